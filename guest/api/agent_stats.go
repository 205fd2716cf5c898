package api

import (
	"context"
	"log"

	agentv1 "emergent.dev/guest/gen/emergent/agent/v1"
	"emergent.dev/guest/proc"
)

// Stats leaves out what it cannot tell: each figure is of use without the other.
func (s *agentService) Stats(context.Context, *agentv1.StatsRequest) (*agentv1.StatsResponse, error) {
	var answer agentv1.StatsResponse
	if used, err := s.memoryUsed(); err != nil {
		log.Printf("stats: %v", err)
	} else {
		answer.MemoryBytes = &used
	}
	if count, err := proc.Count(); err != nil {
		log.Printf("stats: %v", err)
	} else {
		processes := uint32(count)
		answer.Processes = &processes
	}
	return &answer, nil
}
