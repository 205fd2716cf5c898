package api

import (
	"context"

	"connectrpc.com/connect"

	agentv1 "emergent.dev/guest/gen/emergent/agent/v1"
	"emergent.dev/guest/memory"
)

// Watch answers with its headers at once, also while there is nothing to tell.
func (s *agentService) Watch(
	ctx context.Context, request *agentv1.WatchRequest, stream *connect.ServerStream[agentv1.WatchResponse],
) error {
	if err := stream.Send(nil); err != nil {
		return err
	}
	var told uint64
	if request.GetBootId() == s.identity.BootID {
		told = request.GetAfter()
	}
	for {
		incidents, more := s.incidents.After(told)
		for _, one := range incidents {
			answer := &agentv1.WatchResponse{BootId: s.identity.BootID, Incident: incidentMessage(one)}
			if err := stream.Send(answer); err != nil {
				return err
			}
			told = one.Number
		}
		select {
		case <-more:
		case <-ctx.Done():
			return nil
		case <-s.stopping:
			return nil
		}
	}
}

func incidentMessage(one memory.Incident) *agentv1.Incident {
	return &agentv1.Incident{
		Number: one.Number,
		AtMs:   millis(one.At),
		Kind: &agentv1.Incident_MemoryExceeded{MemoryExceeded: &agentv1.MemoryExceeded{
			Process:    []byte(one.Process),
			Pid:        uint32(one.Pid),
			Tag:        one.Tag,
			RssBytes:   one.Rss,
			UsedBytes:  one.Used,
			LimitBytes: one.Limit,
		}},
	}
}
