/** The API as the command uses it; /openapi.json has the whole of it. */
export interface Workspace {
  readonly id: string;
  readonly owner: string;
  readonly provider: string;
  readonly image: string;
  readonly status: string;
  readonly status_reason: string | null;
  readonly network: string;
  readonly resource_limits: {
    readonly cpu: number;
    readonly memory: string;
    readonly disk: string;
  };
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly created_at: string;
  readonly last_used_at: string;
  readonly expires_at: string | null;
}

export interface WorkspacePage {
  readonly items: readonly Workspace[];
  readonly next_cursor: string | null;
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
}

export interface ProviderStatus {
  readonly name: string;
  readonly status: string;
  readonly reason: string | null;
  readonly remedy: string | null;
  readonly active_workspaces: number;
  readonly capabilities: { readonly isolation: string };
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
}

export type BashEvent =
  | { readonly type: 'start'; readonly pid: number }
  | { readonly type: 'stdout' | 'stderr'; readonly data: Buffer }
  | { readonly type: 'result'; readonly result: BashResult };

export interface FileInfo {
  readonly path: string;
  readonly size: number;
}
