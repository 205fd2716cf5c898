import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Slots } from '../../base/slots.ts';
import type { EventStore, McpStore, WorkspaceStore } from '../../domain/store.ts';
import type { SandboxSpecs } from '../lifecycle/sandbox-specs.ts';
import type { Suspension } from '../lifecycle/suspension.ts';
import type { Providers } from '../providers.ts';

/** What everything about hosted MCP servers works with. */
export interface McpContext {
  readonly store: Pick<WorkspaceStore, 'get'>;
  readonly mcp: McpStore;
  readonly events: Pick<EventStore, 'recordMcp'>;
  readonly providers: Pick<Providers, 'get'>;
  readonly specs: Pick<SandboxSpecs, 'env'>;
  readonly suspension: Pick<Suspension, 'resume' | 'recover' | 'revive' | 'recreate'>;
  /** How many sandboxes and programs are started at a time. */
  readonly starts: Slots;
  readonly clock: Clock;
  readonly log: Log;
  readonly settings: McpSettings;
}

export interface McpSettings {
  /** How long a server may be silent before it is asked whether it is there. */
  readonly pingEveryMs: number;
  /** Between SIGTERM and force when our own server ends. */
  readonly shutdownGraceMs: number;
}
