import type { EngineLook } from '../docker/engine.ts';
import { describeEndpoint } from '../docker/endpoint.ts';
import type { Finding } from './check.ts';

export function dockerFinding(look: EngineLook): Finding {
  if (!look.engine) {
    const state = look.why === 'absent' ? 'missing' : 'broken';
    return { state, reason: look.reason, remedy: look.remedy, details: { why: look.why } };
  }
  const { info, endpoint, local } = look.engine;
  const details = {
    version: info.ServerVersion,
    endpoint: describeEndpoint(endpoint),
    storage_driver: info.Driver,
    live_restore: info.LiveRestoreEnabled ?? false,
    architecture: info.Architecture,
    operating_system: info.OperatingSystem,
    local,
  };
  const reason = `version ${info.ServerVersion}, ${info.Driver}, at ${describeEndpoint(endpoint)}`;
  if (info.OSType === 'windows') {
    return {
      state: 'broken',
      reason: `${reason}: it runs Windows containers; workspaces are Linux containers`,
      remedy: 'in Docker Desktop choose "Switch to Linux containers..."',
      details,
    };
  }
  if (local && !details.live_restore) {
    return {
      state: 'reduced',
      reason: `${reason}; an engine restart stops every workspace`,
      remedy: '"live-restore": true in /etc/docker/daemon.json (`npm start` sets it)',
      details,
    };
  }
  return { state: 'ok', reason, details };
}
