package api

import (
	"sync"
	"sync/atomic"
)

// maxParallel is how many partitions of one control request are asked at a time.
const maxParallel = 8

// inParallel does all the work and returns when it is done. A panic in one of them is raised here.
func inParallel(work []func()) {
	if len(work) == 1 {
		work[0]()
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	var panicked atomic.Value
	for range min(len(work), maxParallel) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			defer func() {
				if r := recover(); r != nil {
					panicked.CompareAndSwap(nil, &r)
				}
			}()
			for i := next.Add(1) - 1; i < int64(len(work)); i = next.Add(1) - 1 {
				work[i]()
			}
		}()
	}
	wg.Wait()
	if r := panicked.Load(); r != nil {
		panic(*r.(*any))
	}
}
