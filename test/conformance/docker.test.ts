import { plainProfile } from '../../src/providers/gvisor/container-profile.ts';
import { containerConformance } from './containers.ts';

containerConformance('docker', plainProfile(true));
