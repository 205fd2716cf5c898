package memory

import "time"

const (
	slowest = time.Second
	// steady is the most often that memory is looked at which does not grow.
	steady  = 50 * time.Millisecond
	fastest = 20 * time.Millisecond
	// settling is what a killed process gets to give its memory back.
	settling = 10 * time.Millisecond
	// headRoom is how far above the limit the engine's own lies, which ends the whole sandbox.
	headRoom = 256 << 20
	// fastestGrowth is more than any sandbox was seen to take, in bytes per second.
	fastestGrowth = 4 << 30
	// growing is the growth, in bytes per second, that is watched closely.
	growing = 32 << 20
)

// nextLook says when to look again: in time for the fastest growth to be met below the engine's limit, so the sooner
// the less room there is, and closely while memory grows. growth is in bytes per second.
func nextLook(used, limit uint64, growth float64) time.Duration {
	switch {
	case used > limit:
		return settling
	case growth > growing:
		return fastest
	}
	room := float64(limit-used) + headRoom
	pause := time.Duration(room / fastestGrowth * float64(time.Second))
	return min(max(pause, steady), slowest)
}
