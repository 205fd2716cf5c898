package main

import (
	"runtime"
	"sync"
)

// spareThreads is more than the agent has at work at a time when all it does is read output, reap and signal.
const spareThreads = 24

// reserveThreads makes threads and leaves them to the runtime, which never gives one back. When commands have used up
// all the processes and threads that the sandbox may have, a runtime that needs another thread and gets none ends the
// program, and with the agent goes the sandbox.
func reserveThreads(count int) {
	var made, left sync.WaitGroup
	enough := make(chan struct{})
	made.Add(count)
	left.Add(count)
	for range count {
		go func() {
			defer left.Done()
			// Each has a thread to itself for as long as it waits.
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			made.Done()
			<-enough
		}()
	}
	made.Wait()
	close(enough)
	left.Wait()
}
