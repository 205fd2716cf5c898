import { createHash } from 'node:crypto';
import { describe, json } from './api-client.ts';
import type { ApiClient, Reply, Row } from './api-client.ts';
import type { Findings } from './findings.ts';
import type { Content, Found } from './model/file-record.ts';
import type { Ledger } from './model/ledger.ts';
import { observeProcess } from './model/process-record.ts';
import type { ProcessRecord } from './model/process-record.ts';
import type { Change, Rest, WorkspaceRecord } from './model/workspace-record.ts';
import type { OperationKind, Tally } from './tally.ts';

export interface OperationsOptions {
  readonly api: ApiClient;
  readonly ledger: Ledger;
  readonly findings: Findings;
  readonly tally: Tally;
}

/** What the workspaces of the test are like. */
const limits = { cpu: 1, memory: '512M', disk: '1G' };

/** The settings of a server whose pool holds such ones. */
export const likeClients = {
  WORKSPACE_DEFAULT_CPU: String(limits.cpu),
  WORKSPACE_DEFAULT_MEMORY: limits.memory,
  WORKSPACE_DEFAULT_DISK: limits.disk,
};
const labelBytes = 48;

/**
 * What a client can do, each as one or two requests: the model is told before and after, and holds every answer
 * against what is possible. `true` means that the operation did what was asked.
 */
export class Operations {
  readonly #api: ApiClient;
  readonly #ledger: Ledger;
  readonly #findings: Findings;
  readonly #tally: Tally;

  constructor(options: OperationsOptions) {
    this.#api = options.api;
    this.#ledger = options.ledger;
    this.#findings = options.findings;
    this.#tally = options.tally;
  }

  async create(
    tag: string,
    network: 'nat' | 'isolated',
  ): Promise<WorkspaceRecord | 'refused' | 'unknown'> {
    this.#ledger.attemptCreate(tag);
    const wanted = { resource_limits: limits, network, metadata: { chaos: tag } };
    const reply = await this.#send('create', 'POST', '', wanted);
    if (reply.outcome === 'acknowledged') {
      return this.#ledger.acknowledgeCreate(tag, (json(reply) as Row).id);
    }
    if (reply.outcome === 'refused') this.#ledger.refuseCreate(tag);
    return reply.outcome;
  }

  /** What an unanswered create left, if anything: 'changing' means to look again. */
  async adopt(tag: string): Promise<WorkspaceRecord | 'changing' | undefined> {
    const rows = await this.#api.rows().catch(() => undefined);
    if (!rows) return 'changing';
    const row = rows.find(({ metadata }) => metadata['chaos'] === tag);
    if (!row) return undefined;
    const rest = restOf(row);
    return rest ? this.#ledger.adopt(row.id, rest) : 'changing';
  }

  async change(change: Change, workspace: WorkspaceRecord): Promise<boolean> {
    workspace.attempt(change);
    const [method, path] = change === 'destroy' ? ['DELETE', ''] : ['POST', `/${change}`];
    const reply = await this.#send(change, method, `/${workspace.id}${path}`);
    if (reply.outcome === 'acknowledged') workspace.acknowledge(change);
    return this.#judged(workspace, reply);
  }

  async status(workspace: WorkspaceRecord): Promise<Row | undefined> {
    const reply = await this.#send('status', 'GET', `/${workspace.id}`);
    if (!this.#judged(workspace, reply)) return undefined;
    const row = json(reply) as Row;
    this.#findings.add('loss', workspace.id, workspace.observeStatus(row.status));
    return row;
  }

  /** `mark` makes the answer its own: what another command wrote would show. */
  async bash(workspace: WorkspaceRecord, mark: string): Promise<boolean> {
    const command = `echo ${mark}; exit 3`;
    const reply = await this.#send('bash', 'POST', `/${workspace.id}/bash`, { command });
    if (!this.#judged(workspace, reply)) return false;
    const result = json(reply) as { stdout: string; exit_code: number; interrupted?: boolean };
    const right = result.stdout === `${mark}\n` && result.exit_code === 3;
    if (right || result.interrupted) return right;
    this.#findings.add('loss', `${workspace.id} bash ${mark}`, reply.body.toString());
    return false;
  }

  async write(workspace: WorkspaceRecord, path: string, bytes: Buffer): Promise<boolean> {
    const file = workspace.file(path);
    const content = contentOf(bytes);
    file.attempt(content);
    const reply = await this.#send('write', 'PUT', filesOf(workspace, path), bytes);
    if (reply.outcome === 'acknowledged') file.acknowledge(content);
    return this.#judged(workspace, reply);
  }

  /** Only by the client whose file it is: a write under way at the same time would be seen half known. */
  async read(workspace: WorkspaceRecord, path: string): Promise<boolean> {
    const reply = await this.#send('read', 'GET', filesOf(workspace, path));
    const missing = reply.reason === 'file_not_found';
    if (!missing && !this.#judged(workspace, reply)) return false;
    const found: Found = missing ? null : contentOf(reply.body);
    const complaint = workspace.file(path).observe(found);
    this.#findings.add('loss', `${workspace.id} ${path}`, complaint);
    return complaint === undefined;
  }

  async startProcess(workspace: WorkspaceRecord, lines: number, seconds: number): Promise<boolean> {
    const exitCode = lines % 100;
    const { life } = workspace;
    const command = `seq 1 ${String(lines)}; sleep ${String(seconds)}; echo end; exit ${String(exitCode)}`;
    const reply = await this.#send('process', 'POST', `/${workspace.id}/processes`, { command });
    if (!this.#judged(workspace, reply)) return false;
    const numbers = Array.from({ length: lines }, (_, at) => `${String(at + 1)}\n`);
    const { id } = json(reply) as { id: string };
    workspace.processes.push({ id, output: `${numbers.join('')}end\n`, exitCode, life });
    return true;
  }

  /** The exit code first: a process that had ended by then has written everything. */
  async readProcess(workspace: WorkspaceRecord, process: ProcessRecord): Promise<boolean> {
    const path = `/${workspace.id}/processes/${process.id}`;
    const info = await this.#send('output', 'GET', path);
    const output = info.status === 200 ? await this.#api.send('GET', `${path}/output`) : info;
    if (output.reason === 'process_not_found') {
      const owed = workspace.owes(process);
      this.#findings.add(
        'loss',
        path,
        owed ? 'is unknown, though its sandbox lived on' : undefined,
      );
      return false;
    }
    if (!this.#judged(workspace, output)) return false;
    const { exit_code: exitCode } = json(info) as { exit_code: number | null };
    // A stop on its way ends processes in its own manner.
    if (!workspace.owes(process)) return true;
    const complaint = observeProcess(process, { output: output.body.toString(), exitCode });
    this.#findings.add('loss', path, complaint);
    return complaint === undefined;
  }

  /** Whether it was acknowledged. A workspace that the server does not know is held against the model. */
  #judged(workspace: WorkspaceRecord, reply: Reply): boolean {
    if (reply.outcome === 'acknowledged') return true;
    if (reply.reason === 'workspace_not_found') {
      this.#findings.add('loss', workspace.id, workspace.observeMissing());
    }
    if (reply.reason === 'files_lost') this.#findings.add('loss', workspace.id, describe(reply));
    return false;
  }

  async #send(kind: OperationKind, method: string, path: string, body?: unknown): Promise<Reply> {
    const reply = await this.#api.send(method, path, body);
    this.#tally.count(kind, reply);
    return reply;
  }
}

/** Undefined while it is changing. One in error was meant to run. */
function restOf({ status }: Row): Rest | undefined {
  if (status === 'error') return 'ready';
  return status === 'ready' || status === 'stopped' ? status : undefined;
}

function filesOf(workspace: WorkspaceRecord, path: string): string {
  return `/${workspace.id}/files?path=${encodeURIComponent(path)}`;
}

function contentOf(bytes: Buffer): Content {
  return {
    digest: createHash('sha256').update(bytes).digest('hex'),
    bytes: bytes.length,
    label: bytes.subarray(0, labelBytes).toString('latin1').split('\n')[0] ?? '',
  };
}
