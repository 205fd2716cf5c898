/** The API as the command uses it; /openapi.json has the whole of it. */
export interface Workspace {
  readonly id: string;
  readonly owner: string;
  readonly provider: string;
  readonly image: string;
  readonly status: string;
  readonly status_reason: string | null;
  readonly network: string;
  readonly repository_url: string | null;
  readonly resource_limits: {
    readonly cpu: number;
    readonly memory: string;
    readonly disk: string;
  };
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly created_at: string;
  readonly ready_at: string | null;
  readonly last_used_at: string;
  readonly ttl_seconds: number | null;
  readonly expires_at: string | null;
}

export interface WorkspacePage {
  readonly items: readonly Workspace[];
  readonly next_cursor: string | null;
}

export interface WorkspaceStats {
  readonly workspace_id: string;
  readonly owner: string;
  readonly provider: string;
  readonly status: string;
  readonly last_used_at: string;
  readonly at: string | null;
  readonly frozen: boolean;
  readonly cpu_percent: number | null;
  readonly cpu_limit: number;
  readonly memory_bytes: number | null;
  readonly memory_limit_bytes: number;
  readonly disk_bytes: number | null;
  readonly disk_limit_bytes: number;
  readonly processes: number | null;
  readonly reason: string | null;
}

export interface WorkspaceStatsList {
  readonly items: readonly WorkspaceStats[];
  readonly left_out: number;
}

export interface NewWorkspace {
  readonly provider?: string;
  readonly image?: string;
  readonly resource_limits?: Readonly<Partial<Record<'cpu' | 'memory' | 'disk', string>>>;
  readonly network?: string;
  readonly ttl_seconds?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly agent_session_id?: string;
  readonly repository_url?: string;
  readonly branch?: string;
}

export interface ProviderStatus {
  readonly name: string;
  readonly status: string;
  readonly reason: string | null;
  readonly remedy: string | null;
  readonly cooling_down: { readonly until: string; readonly reason: string } | null;
  readonly active_workspaces: number;
  /** Null: it is not configured. */
  readonly capabilities: { readonly isolation: string } | null;
  readonly details: Readonly<Record<string, unknown>>;
}

export interface SelectionQuery {
  readonly provider?: string;
  readonly container_type?: string;
  readonly deployment_mode?: string;
}

/** What a create would try, from the front. */
export interface Selection {
  readonly provider: string;
  readonly container_type: string;
  readonly deployment_mode: string;
  readonly order: readonly { readonly name: string; readonly why: string }[];
  readonly left_out: readonly { readonly name: string; readonly reason: string }[];
}

export interface WarmPool {
  readonly name: string;
  readonly size: number;
  readonly ready: number;
  readonly creating: number;
  readonly provider: string | null;
  readonly image: string;
  readonly resource_limits: {
    readonly cpu: number;
    readonly memory: string;
    readonly disk: string;
  };
  readonly network: string;
  readonly state: string;
  readonly reason: string | null;
}

export interface WarmPoolReport {
  readonly pools: readonly WarmPool[];
  readonly hits: Readonly<Record<string, number>>;
  readonly misses: Readonly<Record<string, number>>;
}

export interface Token {
  readonly id: string;
  readonly name: string;
  readonly role: string;
  readonly created_at: string;
  readonly revoked_at: string | null;
}

export interface NewToken extends Omit<Token, 'revoked_at'> {
  /** The secret; shown once. */
  readonly token: string;
}

export interface BashRequest {
  readonly command: string;
  readonly workdir?: string;
  readonly timeout_ms: number;
  readonly env?: Readonly<Record<string, string>>;
}

export interface BashResult {
  readonly exit_code: number;
  readonly signal: string | null;
  readonly timed_out: boolean;
  readonly interrupted: boolean;
}

export type BashEvent =
  | { readonly type: 'start'; readonly processId: string }
  | { readonly type: 'stdout' | 'stderr'; readonly data: Buffer }
  | { readonly type: 'result'; readonly result: BashResult };

export interface NewProcess {
  readonly command: string;
  readonly workdir?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export interface Process {
  readonly id: string;
  readonly pid: number;
  readonly command: string;
  readonly detached: boolean;
  readonly status: string;
  readonly started_at: string;
  readonly ended_at: string | null;
  readonly exit_code: number | null;
  readonly signal: string | null;
  readonly output_bytes: number;
  readonly dropped_bytes: number;
}

/** How a process ended. */
export interface Exit {
  readonly exit_code: number;
  readonly signal: string | null;
}

/** `offset`: how many bytes of output lie before the end of this event. */
export type OutputEvent =
  | { readonly type: 'stdout' | 'stderr'; readonly data: Buffer; readonly offset: number }
  | { readonly type: 'skipped'; readonly bytes: number; readonly offset: number }
  | { readonly type: 'exit'; readonly exit: Exit };

export interface WorkspaceEvent {
  readonly id: number;
  readonly at: string;
  /** Null: it happened to the server itself. */
  readonly workspace_id: string | null;
  readonly actor: string;
  readonly type: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

export interface EventList {
  readonly items: readonly WorkspaceEvent[];
  readonly next_after: number;
}

export interface ReconcileRequest {
  readonly dry_run: boolean;
  readonly min_age_seconds?: number;
  readonly include_unknown: boolean;
}

export interface ReconcileAction {
  readonly workspace_id: string;
  readonly provider: string;
  readonly kind: string;
  readonly why: string;
  readonly result: string | null;
  readonly reason: string | null;
}

export interface ReconcileReport {
  readonly dry_run: boolean;
  readonly actions: readonly ReconcileAction[];
  readonly leftovers: readonly {
    readonly provider: string;
    readonly name: string;
    readonly why: string;
  }[];
  readonly blocked: readonly { readonly provider: string; readonly reason: string }[];
}

export interface FileInfo {
  readonly path: string;
  readonly size: number;
}
