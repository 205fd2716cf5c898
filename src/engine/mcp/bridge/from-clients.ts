import type { JsonRpcNotification } from '../../../domain/json-rpc.ts';
import type { McpClient } from '../connection.ts';
import { isId } from './messages.ts';
import type { Questions } from './questions.ts';

/** Whether a program that several clients share may be told this by one of them. */
export function mayBeTold(
  { method, params }: JsonRpcNotification,
  client: McpClient,
  questions: Questions,
): boolean {
  switch (method) {
    // It was told once, by us; and calls are cancelled by their signal, since their ids are ours.
    case 'notifications/initialized':
    case 'notifications/cancelled':
      return false;
    case 'notifications/progress': {
      const token = params?.['progressToken'];
      return isId(token) && questions.hasGivenToken(client.id, token);
    }
    default:
      return method.startsWith('notifications/');
  }
}
