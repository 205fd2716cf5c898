package memory

import (
	"slices"
	"testing"

	"emergent.dev/guest/proc"
)

func TestVictims(t *testing.T) {
	there := []proc.Resident{
		{Pid: 10, Started: 1, Rss: 5},
		{Pid: 11, Started: 2, Rss: 40},
		{Pid: 12, Started: 9, Rss: 20},
		{Pid: 13, Started: 7, Rss: 20},
		{Pid: 15, Started: 7, Rss: 20},
	}
	for name, test := range map[string]struct {
		used  uint64
		dying map[int]bool
		want  []int
	}{
		"nobody at the limit":                     {used: 100},
		"the largest":                             {used: 101, want: []int{11}},
		"the largest alone where it suffices":     {used: 140, want: []int{11}},
		"of equal ones the youngest":              {used: 141, want: []int{11, 12}},
		"of those of one moment the higher pid":   {used: 161, want: []int{11, 12, 15}},
		"who is dying is not killed again":        {used: 141, dying: map[int]bool{11: true}, want: []int{12}},
		"what the dying hold is as good as free":  {used: 140, dying: map[int]bool{11: true}},
		"all of them, where nothing else helps":   {used: 1000, want: []int{11, 12, 15, 13, 10}},
		"who is dying and gone is of no more use": {used: 101, dying: map[int]bool{99: true}, want: []int{11}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []int
			for _, one := range victims(test.used, 100, there, test.dying) {
				got = append(got, one.Pid)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}
