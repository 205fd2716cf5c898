import { searchSuite } from './search.suite.ts';
import { memoryBench } from './support/sandboxes.ts';

searchSuite('memory', memoryBench);
