/**
 * Every failure that a caller can be told about. The hint says what to do next; an error may carry a more
 * precise one. `api/error-status.ts` gives each code its HTTP status and does not compile without it.
 */
const hints = {
  malformed_json: 'Send a JSON body that parses; check quotes, commas and the Content-Length.',
  malformed_request: 'Check the request line, the headers and the query string.',
  bad_id: 'Ids are UUIDs, as printed by `emergent list`.',
  unknown_field: 'Remove the field, or check its spelling against /openapi.json.',
  invalid_value: 'Correct the named value; /openapi.json lists what is accepted.',
  unsupported_media_type:
    'Send Content-Type: application/json (or application/octet-stream for raw files).',
  body_too_large: 'Send less; raw files are streamed through PUT /files and have their own limit.',
  unauthenticated: 'Send "Authorization: Bearer <token>"; `emergent token create` makes one.',
  forbidden: 'Use a token whose role allows this; ask an admin for one.',
  not_found: 'Check the path against /openapi.json.',
  workspace_not_found: 'Check the id with `emergent list`; a destroyed workspace is gone for good.',
  mcp_server_not_found: 'Check the id or the name with `emergent mcp list`.',
  volumes_not_found: 'See `emergent mcp volumes` for what was kept.',
  token_not_found: 'Check the id with `emergent token list`.',
  pool_not_found: 'See `emergent pool` for the pools of this server.',
  process_not_found: 'The process has ended, or the id belongs to another workspace.',
  file_not_found: 'Check the path; relative paths start at /workspace.',
  is_directory: 'Name a file; a directory cannot be transferred as one.',
  file_changed: 'Somebody else has written it meanwhile; read it again.',
  no_match: 'The text must occur in the file exactly as given, white space and line ends included.',
  multiple_matches: 'Give more of the text around it, or set replace_all.',
  git_failed: 'What git said is in details.stderr.',
  permission_denied: 'The path is not accessible inside the workspace.',
  disk_full: 'Remove files in the workspace, or create one with a larger disk limit.',
  wrong_state: 'Wait for the running change to end, or destroy the workspace.',
  name_taken: 'Choose another name, or delete the server that has it: `emergent mcp list`.',
  hosted_elsewhere:
    'Ask the server that runs it; or set EMERGENT_ADVERTISE_URL there, and requests are passed on to it.',
  host_unreachable:
    'Nothing was done. Try again; if it lasts, check EMERGENT_ADVERTISE_URL of the server that hosts it.',
  host_failed: 'It may have been done all the same: look before you send it again.',
  limit_reached:
    'Wait until one is stopped or destroyed, or destroy what is no longer used: `emergent list`.',
  interrupted: 'The workspace was stopped or destroyed, by somebody or by its TTL; see its events.',
  files_lost: 'What it held cannot be brought back; destroy it and create another.',
  unsupported: 'See `emergent providers` for what each provider can do.',
  client_closed: 'The caller went away before the answer.',
  provider_unknown: 'See `emergent providers` for the names this server knows.',
  provider_unavailable:
    '`emergent providers` and `emergent doctor` say what is wrong and how to mend it.',
  provider_failed: 'The reason is in the message; `emergent doctor` checks the host.',
  image_not_found: 'Check the image name, or build or pull it on the engine first.',
  image_access_denied:
    'Check the image name. For a private one: `docker login` and `docker pull` on the host of the engine.',
  image_unsuitable: 'Choose an image for Linux that is made for the CPU of the engine.',
  registry_unavailable:
    'Check that the Docker engine reaches the registry: `docker pull` on its host says more.',
  no_shell: 'Use an image that has bash or sh; the tools for files and searching work without.',
  no_program:
    'Give a command, or choose an image that has one; its name must be found in the image.',
  port_closed: 'Nothing listens on this port in the sandbox; see `emergent mcp logs`.',
  mcp_unavailable: 'The reason is in the message; `emergent mcp logs` has what it wrote.',
  mcp_failed: 'The server ended, or broke the protocol, during the call; see `emergent mcp logs`.',
  message_too_large: 'Messages of MCP servers are bounded; ask for less at once.',
  sandbox_unreachable: 'The sandbox did not answer; try again, or destroy the workspace.',
  deadline_exceeded: 'The host may be overloaded; try again, or raise the timeout.',
  store_unavailable: 'The database did not answer; the server keeps trying. See `emergent doctor`.',
  shutting_down: 'The server is stopping; try again when it is back.',
  internal: 'This is a fault of the server; its log has the whole story under this request id.',
} as const satisfies Record<string, string>;

export type ErrorCode = keyof typeof hints;

export interface EmergentErrorOptions {
  hint?: string;
  /** Structured facts for the caller; never secrets. */
  details?: Record<string, unknown>;
  cause?: unknown;
}

export class EmergentError extends Error {
  override readonly name = 'EmergentError';
  readonly code: ErrorCode;
  readonly hint: string;
  readonly details: Record<string, unknown> | undefined;

  constructor(code: ErrorCode, message: string, options: EmergentErrorOptions = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.hint = options.hint ?? hints[code];
    this.details = options.details;
  }
}

export const errorCodes = Object.keys(hints) as readonly ErrorCode[];
