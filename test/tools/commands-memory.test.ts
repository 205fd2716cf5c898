import { commandSuite } from './commands.suite.ts';
import { memoryBench } from './support/sandboxes.ts';

commandSuite('memory', memoryBench);
