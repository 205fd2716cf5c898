package memory

import (
	"testing"
	"time"
)

func TestNextLook(t *testing.T) {
	const mib, gib = 1 << 20, 1 << 30
	for name, test := range map[string]struct {
		used, limit uint64
		growth      float64
		least, most time.Duration
	}{
		"slowly where there is much room":     {100 * mib, 4 * gib, 0, slowest, slowest},
		"sooner where there is less":          {100 * mib, 512 * mib, 0, 100 * time.Millisecond, 200 * time.Millisecond},
		"small growth does not matter":        {100 * mib, 4 * gib, mib, slowest, slowest},
		"closely while memory grows":          {100 * mib, 4 * gib, 100 * mib, fastest, fastest},
		"often where memory is short":         {510 * mib, 512 * mib, 0, steady, 70 * time.Millisecond},
		"closely where it is short and grows": {3 * gib, 4 * gib, gib, fastest, fastest},
		"at once above the limit":             {5 * gib, 4 * gib, 0, settling, settling},
		"never all the time":                  {0, 1, 0, steady, 100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			if got := nextLook(test.used, test.limit, test.growth); got < test.least || got > test.most {
				t.Errorf("%v, want %v to %v", got, test.least, test.most)
			}
		})
	}
}

// Whoever grows as fast as can be is met before the engine's limit.
func TestNoGrowthOvertakesTheNextLook(t *testing.T) {
	for limit := uint64(64 << 20); limit <= 64<<30; limit *= 2 {
		for used := uint64(0); used <= limit; used += limit / 100 {
			pause := nextLook(used, limit, 0)
			if grown := used + uint64(pause.Seconds()*fastestGrowth); grown > limit+headRoom {
				t.Fatalf("limit %d, used %d: %v is too late", limit, used, pause)
			}
		}
	}
}
