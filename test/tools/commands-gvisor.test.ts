import { commandSuite } from './commands.suite.ts';
import { gvisorBench } from './support/sandboxes.ts';

commandSuite('gvisor', gvisorBench);
