package api

import (
	"context"
	"strings"

	"emergent.dev/guest/gen/process"
	"emergent.dev/guest/proc"
)

// The bounds of an answer, which must fit into one message.
const (
	maxListed = 1024
	// Of one command: its name, its arguments and its directory.
	maxTextBytes = 2 << 10
)

func (s *processService) List(_ context.Context, request *process.ListRequest) (*process.ListResponse, error) {
	listed := s.table.Known()
	if !request.GetEnded() {
		listed = s.table.Running()
	}
	listed = listed[max(0, len(listed)-maxListed):]
	response := &process.ListResponse{}
	for _, p := range listed {
		response.Processes = append(response.Processes, infoOf(p))
	}
	return response, nil
}

func infoOf(p *proc.Process) *process.ProcessInfo {
	now := p.Info()
	left := maxTextBytes
	config := &process.ProcessConfig{Cmd: cut(p.Spec.Cmd, &left), Args: cutAll(p.Spec.Args, &left)}
	if p.Spec.Cwd != "" {
		cwd := cut(p.Spec.Cwd, &left)
		config.Cwd = &cwd
	}
	info := &process.ProcessInfo{
		Config:       config,
		Pid:          uint32(p.Pid),
		Detached:     p.Spec.Detached,
		StartedAtMs:  millis(now.StartedAt),
		OutputBytes:  now.OutputBytes,
		DroppedBytes: now.DroppedBytes,
	}
	if p.Spec.Tag != "" {
		info.Tag = &p.Spec.Tag
	}
	if now.End != nil {
		info.EndedAtMs = millis(now.End.At)
		info.End = endEvent(now.End.Exit)
	}
	return info
}

// cutAll drops what no room is left for.
func cutAll(texts []string, left *int) []string {
	var kept []string
	for _, text := range texts {
		if *left <= 0 {
			break
		}
		kept = append(kept, cut(text, left))
	}
	return kept
}

// cut takes the text's length, and one byte so that empty ones count too, off the room that is left.
func cut(text string, left *int) string {
	room := max(*left, 0)
	*left -= len(text) + 1
	if len(text) <= room {
		return text
	}
	return strings.ToValidUTF8(text[:room], "") + "…"
}
