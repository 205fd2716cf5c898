import { Option } from 'commander';
import type { Command } from 'commander';
import { ApiClient } from '../http/client.ts';
import type { Token } from '../http/api-types.ts';
import type { CommonOptions } from '../input/options.ts';
import { commonOptions } from '../input/options.ts';
import { note, printJson, printLine } from '../terminal/output.ts';
import { tableLines } from '../terminal/table.ts';
import type { Column } from '../terminal/table.ts';

export function define(command: Command): void {
  command.description('Create, list and revoke access tokens; needs the role admin.').addHelpText(
    'after',
    `
Examples:
  export EMERGENT_TOKEN=$(emergent token create my-agent)
  emergent token list
  emergent token revoke 7b0e8a52-4a3c-4a0e-9a51-0d7f7c3a9f11`,
  );
  defineCreate(command.command('create'));
  defineList(command.command('list'));
  defineRevoke(command.command('revoke'));
}

interface CreateTokenOptions extends CommonOptions {
  readonly role: string;
}

function defineCreate(command: Command): void {
  commonOptions(command)
    .description('Create a token and print its secret, which is never shown again.')
    .argument('<name>', 'what it is for')
    .addOption(
      new Option('--role <role>', 'an agent sees only its own workspaces; an admin sees all')
        .choices(['agent', 'admin'])
        .default('agent'),
    )
    .addHelpText('after', '\nExample:\n  EMERGENT_TOKEN=$(emergent token create ci) emergent list')
    .action(async (name: string) => {
      const options = command.optsWithGlobals<CreateTokenOptions>();
      const created = await ApiClient.connect(options).createToken(name, options.role);
      if (options.json === true) {
        await printJson(created);
      } else {
        note(`created: ${created.name}, role ${created.role}, id ${created.id}`);
        await printLine(created.token);
      }
    });
}

const columns: readonly Column<Token>[] = [
  { title: 'ID', cell: (row) => row.id },
  { title: 'NAME', cell: (row) => row.name },
  { title: 'ROLE', cell: (row) => row.role },
  { title: 'STATE', cell: (row) => (row.revoked_at === null ? 'active' : 'revoked') },
  { title: 'CREATED', cell: (row) => row.created_at },
];

function defineList(command: Command): void {
  commonOptions(command)
    .description('List tokens; their secrets are not kept and cannot be shown.')
    .addHelpText('after', '\nExample:\n  emergent token list')
    .action(async () => {
      const options = command.optsWithGlobals<CommonOptions>();
      const tokens = await ApiClient.connect(options).listTokens();
      if (options.json === true) await printJson({ items: tokens });
      else await printLine(tableLines(columns, tokens).join('\n'));
    });
}

function defineRevoke(command: Command): void {
  commonOptions(command)
    .description('Revoke a token: from now on it opens nothing.')
    .argument('<id>', 'id of the token, as `emergent token list` shows it')
    .addHelpText(
      'after',
      '\nExample:\n  emergent token revoke 7b0e8a52-4a3c-4a0e-9a51-0d7f7c3a9f11',
    )
    .action(async (id: string) => {
      const options = command.optsWithGlobals<CommonOptions>();
      await ApiClient.connect(options).revokeToken(id);
      if (options.json === true) await printJson({ revoked: id });
      else await printLine(id);
    });
}
