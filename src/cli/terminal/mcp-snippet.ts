/** Who is to be told about a server; each writes its settings its own way. */
export const snippetClients = ['json', 'claude', 'vscode', 'cursor'] as const;
export type SnippetClient = (typeof snippetClients)[number];

/** Something that speaks MCP, and how it is reached both ways. */
export interface SnippetTarget {
  readonly name: string;
  readonly url: string;
  /** Of our own command, which carries messages between standard input and the server. */
  readonly stdioArgs: readonly string[];
}

/** How our own command is started, and finds its server. */
export interface StdioCommand {
  readonly command: string;
  readonly env: Readonly<Record<string, string>>;
  /** The command needs a token in its environment; otherwise it finds one by itself. */
  readonly needsToken: boolean;
}

export interface SnippetOptions {
  readonly client: SnippetClient;
  /** Undefined: over HTTP. */
  readonly stdio?: StdioCommand;
  /** Undefined: a placeholder that the client fills in. */
  readonly token?: string;
}

const inputId = 'emergent-token';

const placeholders: Readonly<Record<SnippetClient, string>> = {
  json: '${EMERGENT_TOKEN}',
  claude: '${EMERGENT_TOKEN}',
  cursor: '${env:EMERGENT_TOKEN}',
  vscode: `\${input:${inputId}}`,
};

/** What is to be pasted into the client's settings. */
export function snippet(targets: readonly SnippetTarget[], options: SnippetOptions): object {
  const { client, token } = options;
  const entries = Object.fromEntries(
    targets.map((target) => [entryName(target.name), entry(target, options)]),
  );
  if (client !== 'vscode') return { mcpServers: entries };
  const asks = token === undefined && hasToken(options);
  return { ...(asks && { inputs: [tokenInput] }), servers: entries };
}

/** Whether a token, or a place for one, is in it. */
export function hasToken({ stdio }: SnippetOptions): boolean {
  return stdio?.needsToken ?? true;
}

const tokenInput = {
  type: 'promptString',
  id: inputId,
  description: 'Access token of the Emergent server',
  password: true,
};

function entry(target: SnippetTarget, options: SnippetOptions): object {
  const { client, stdio } = options;
  const token = options.token ?? placeholders[client];
  if (!stdio) {
    return {
      // Cursor tells the transport by the URL alone.
      ...(client !== 'cursor' && { type: 'http' }),
      url: target.url,
      headers: { Authorization: `Bearer ${token}` },
    };
  }
  return {
    ...(client === 'vscode' && { type: 'stdio' }),
    command: stdio.command,
    args: target.stdioArgs,
    env: { ...stdio.env, ...(stdio.needsToken && { EMERGENT_TOKEN: token }) },
  };
}

/** Some clients make part of a tool's name of it, and take letters, digits, dashes and underscores only. */
function entryName(name: string): string {
  return name.replace(/[^\w-]/g, '-');
}

const files: Readonly<Record<SnippetClient, string>> = {
  json: "the client's settings",
  claude: '.mcp.json of your project',
  vscode: '.vscode/mcp.json of your project',
  cursor: '.cursor/mcp.json of your project, or ~/.cursor/mcp.json',
};

/** What is to be done with the snippet. */
export function snippetAdvice(options: SnippetOptions): string[] {
  const { client, stdio, token } = options;
  const desktop = client === 'claude' && stdio ? ', or claude_desktop_config.json' : '';
  const paste = `Paste it into ${files[client]}${desktop}.`;
  if (!hasToken(options)) return [paste];
  if (token !== undefined) return [paste, 'It holds your token: keep the file to yourself.'];
  return [paste, tokenAdvice[client]];
}

const tokenAdvice: Readonly<Record<SnippetClient, string>> = {
  json: 'Where the client does not fill in ${EMERGENT_TOKEN} from its environment, write the token there.',
  claude: 'Start Claude with EMERGENT_TOKEN set to a token of this server.',
  cursor: 'Start Cursor with EMERGENT_TOKEN set to a token of this server.',
  vscode: 'VS Code asks for a token of this server once, and keeps it.',
};
