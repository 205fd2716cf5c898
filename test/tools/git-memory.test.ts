import { gitSuite } from './git.suite.ts';
import { memoryBench } from './support/sandboxes.ts';

gitSuite('memory', memoryBench);
