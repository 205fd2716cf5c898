package api

import (
	"context"
	"sort"

	"emergent.dev/guest/gen/process"
)

func (s *processService) List(context.Context, *process.ListRequest) (*process.ListResponse, error) {
	response := &process.ListResponse{}
	for _, p := range s.table.Running() {
		info := &process.ProcessInfo{
			Config: &process.ProcessConfig{Cmd: p.Spec.Cmd, Args: p.Spec.Args, Envs: p.Spec.Envs},
			Pid:    uint32(p.Pid),
		}
		if p.Spec.Cwd != "" {
			info.Config.Cwd = &p.Spec.Cwd
		}
		if p.Spec.Tag != "" {
			info.Tag = &p.Spec.Tag
		}
		response.Processes = append(response.Processes, info)
	}
	sort.Slice(response.Processes, func(i, j int) bool {
		return response.Processes[i].GetPid() < response.Processes[j].GetPid()
	})
	return response, nil
}
