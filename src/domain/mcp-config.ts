/** Exit 0 restarts only under `always`; anything else under `always` and `on-failure`. */
export const restartPolicies = ['always', 'on-failure', 'never'] as const;
export type RestartPolicy = (typeof restartPolicies)[number];

/** How the program of a hosted MCP server is spoken to. */
export type McpTransport =
  /** Newline-delimited JSON-RPC over its standard input and output. */
  | { readonly kind: 'stdio' }
  /** Streamable HTTP that it serves itself, inside its sandbox. */
  | { readonly kind: 'http'; readonly port: number; readonly path: string };

/** What a hosted MCP server is, as it was registered; in the row's `mcp_config`, so without secrets. */
export interface McpServerConfig {
  /** Unique among those of its owner. */
  readonly name: string;
  /** Null: the image's own entry point, and its own arguments unless `args` says others. */
  readonly command: string | null;
  readonly args: readonly string[] | null;
  /** Null: the image's own. */
  readonly workdir: string | null;
  readonly transport: McpTransport;
  readonly restartPolicy: RestartPolicy;
  /** Absolute paths whose files outlive the container. */
  readonly volumes: readonly string[];
  /** How many calls the program is given at once; 1 serialises. */
  readonly maxInFlight: number;
  readonly initializeTimeoutMs: number;
  /** Every token may use it; others than its owner and admins may not change it. */
  readonly shared: boolean;
}
