package memory

import (
	"cmp"
	"slices"

	"emergent.dev/guest/proc"
)

// victims says who must go for the rest to fit: the largest first, of equal ones the youngest. What those hold who are
// dying already is as good as free.
func victims(used, limit uint64, there []proc.Resident, dying map[int]bool) []proc.Resident {
	var alive []proc.Resident
	for _, one := range there {
		if dying[one.Pid] {
			used -= min(used, one.Rss)
		} else {
			alive = append(alive, one)
		}
	}
	slices.SortStableFunc(alive, func(a, b proc.Resident) int {
		return cmp.Or(cmp.Compare(b.Rss, a.Rss), cmp.Compare(b.Started, a.Started), cmp.Compare(b.Pid, a.Pid))
	})
	var chosen []proc.Resident
	for _, one := range alive {
		if used <= limit {
			break
		}
		used -= min(used, one.Rss)
		chosen = append(chosen, one)
	}
	return chosen
}
