/** The part of the API about hosted MCP servers, as the command uses it; /openapi.json has the whole of it. */
export interface McpServer {
  readonly id: string;
  readonly name: string;
  readonly owner: string;
  readonly image: string;
  readonly provider: string;
  /** Of its sandbox; `health` tells how its program is. */
  readonly status: string;
  readonly command: string | null;
  readonly args: readonly string[] | null;
  readonly workdir: string | null;
  readonly stdio_bridge: boolean;
  readonly port: number | null;
  readonly path: string | null;
  readonly restart_policy: string;
  readonly network: string;
  readonly volumes: readonly string[];
  readonly resource_limits: {
    readonly cpu: number;
    readonly memory: string;
    readonly disk: string;
  };
  readonly max_in_flight: number;
  readonly shared: boolean;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly created_at: string;
  readonly health: McpHealth;
  /** Null: it does not run. */
  readonly uptime_seconds: number | null;
  readonly restarts: number;
  readonly last_exit: McpExit | null;
  /** Null: it has not introduced itself yet. */
  readonly introduction: McpIntroduction | null;
  readonly in_flight: number;
  readonly clients: number;
  readonly stray_lines: number;
  /** Null: it cannot be told now, or this is one of a list. */
  readonly usage: McpUsage | null;
}

export interface McpUsage {
  readonly cpu_percent: number | null;
  readonly memory_bytes: number | null;
  readonly disk_bytes: number | null;
  readonly processes: number | null;
}

export interface McpHealth {
  readonly state: string;
  readonly reason: string | null;
  readonly crash_looping: boolean;
  readonly next_start_at: string | null;
  readonly last_heard_at: string | null;
}

export interface McpExit {
  readonly exit_code: number;
  readonly signal: string | null;
  readonly at: string;
}

export interface McpIntroduction {
  readonly protocol_version: string;
  readonly server_info: { readonly name: string; readonly version: string };
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly instructions: string | null;
}

/** What is left out is the server's default. */
export interface NewMcpServer {
  readonly name: string;
  readonly image?: string;
  readonly command?: string;
  readonly args?: readonly string[];
  readonly workdir?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly stdio_bridge?: boolean;
  readonly port?: number;
  readonly path?: string;
  readonly restart_policy?: string;
  readonly volumes?: readonly string[];
  readonly resource_limits?: Readonly<Partial<Record<'cpu' | 'memory' | 'disk', string>>>;
  readonly network?: string;
  readonly provider?: string;
  readonly max_in_flight?: number;
  readonly initialize_timeout_ms?: number;
  readonly shared?: boolean;
  readonly metadata?: Readonly<Record<string, string>>;
}

export interface McpLogLine {
  readonly number: number;
  readonly at: string;
  readonly stream: string;
  readonly text: string;
}

export interface McpCall {
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly timeout_ms: number;
}

/** What a JSON-RPC call came to. */
export type McpOutcome =
  { readonly result: Readonly<Record<string, unknown>> } | { readonly error: JsonRpcError };

export interface JsonRpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** As MCP describes it; what else it has is for `--json`. */
export interface McpTool {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

/** The result of a tool. */
export interface McpToolResult {
  readonly content?: readonly McpContent[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
}

/** What it is made of depends on its type, of which there may be more than are known here. */
export type McpContent = Readonly<Record<string, unknown>> & { readonly type: string };

/** Files of a deleted server. */
export interface McpKeptVolumes {
  readonly id: string;
  readonly name: string;
  readonly owner: string;
  readonly provider: string;
  readonly paths: readonly string[];
  readonly kept_at: string;
}
