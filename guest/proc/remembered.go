package proc

import "time"

// keeping bounds how many of the commands that ended are remembered, what their logs occupy together, and for how
// long.
type keeping struct {
	count        int
	memory, disk uint64
	// 0: for as long as the rest allows.
	age time.Duration
}

// The two kinds have bounds of their own, so that neither drives the other out.
var (
	keepAttached = keeping{count: 128, memory: 8 << 20, disk: 128 << 20, age: 10 * time.Minute}
	keepDetached = keeping{count: 256, memory: 8 << 20, disk: 128 << 20}
)

// takes answers whether the process still fits, and if so takes its share off.
func (k *keeping) takes(process *Process, now time.Time) bool {
	memory, disk := process.log.footprint()
	tooOld := k.age > 0 && now.Sub(process.ended) >= k.age
	if k.count == 0 || memory > k.memory || disk > k.disk || tooOld {
		return false
	}
	k.count--
	k.memory -= memory
	k.disk -= disk
	return true
}

func (t *Table) finished(process *Process) {
	if !process.Spec.Detached {
		time.AfterFunc(keepAttached.age, func() { t.expire(time.Now()) })
	}
	t.mu.Lock()
	t.ended = append(t.ended, process)
	t.mu.Unlock()
	t.expire(time.Now())
}

// expire forgets what ended too long ago or is too much, the oldest first, except where descendants still run:
// those must stay within reach of signals.
func (t *Table) expire(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	attached, detached := keepAttached, keepDetached
	var kept []*Process
	for i := len(t.ended) - 1; i >= 0; i-- {
		process := t.ended[i]
		room := &attached
		if process.Spec.Detached {
			room = &detached
		}
		if room.takes(process, now) || process.group.alive() {
			kept = append(kept, process)
		} else {
			t.forget(process)
		}
	}
	for i, j := 0, len(kept)-1; i < j; i, j = i+1, j-1 {
		kept[i], kept[j] = kept[j], kept[i]
	}
	t.ended = kept
}

func (t *Table) forget(process *Process) {
	delete(t.all, process)
	if t.byPid[process.Pid] == process {
		delete(t.byPid, process.Pid)
	}
	if tag := process.Spec.Tag; tag != "" {
		delete(t.byTag, tag)
	}
	process.log.forget()
}
