import { Buffer } from 'node:buffer';

/**
 * The smallest program that proves a sandbox works: it asks for the kernel's release (uname), writes it to
 * standard output and then sleeps until it is killed. As machine code in a hand-made ELF file it needs no
 * compiler, no image and no registry, so that a bare host can be probed.
 */
const programs: Readonly<Record<string, { machine: number; code: Buffer }>> = {
  x86_64: {
    machine: 62,
    code: Buffer.from(
      [
        '4881ec00040000', // sub  $1024, %rsp
        '4889e7b83f0000000f05', // uname(rsp)
        '488db42482000000', // lea  130(%rsp), %rsi      the release within struct utsname
        '31d2ffc2803c160075f8', // count edx up to the closing NUL
        'bf01000000b8010000000f05', // write(1, rsi, edx)
        'b8220000000f05', // pause()
        '31ffb83c0000000f05', // exit(0)
      ].join(''),
      'hex',
    ),
  },
  aarch64: {
    machine: 183,
    code: littleEndianWords([
      0xd11003ff, // sub  sp, sp, #1024
      0x910003e0, // mov  x0, sp
      0xd2801408, // mov  x8, #160
      0xd4000001, // uname(sp)
      0x91020be1, // add  x1, sp, #130             the release within struct utsname
      0xaa1f03e2, // mov  x2, xzr
      0x91000442, // add  x2, x2, #1
      0x38626823, // ldrb w3, [x1, x2]
      0xb5ffffc3, // cbnz x3, two back
      0xb24003e0, // mov  x0, #1
      0xb27a03e8, // mov  x8, #64
      0xd4000001, // write(1, x1, x2)
      0xaa1f03e0, // mov  x0, xzr
      0xaa1f03e1, // mov  x1, xzr
      0xaa1f03e2, // mov  x2, xzr
      0xaa1f03e3, // mov  x3, xzr
      0xd2800928, // mov  x8, #73
      0xd4000001, // ppoll(NULL, 0, NULL, NULL)
      0xaa1f03e0, // mov  x0, xzr
      0xd2800ba8, // mov  x8, #93
      0xd4000001, // exit(0)
    ]),
  },
};

/** The program for an engine's architecture, as `docker info` names it. */
export function probeProgram(architecture: string): Buffer {
  const program = programs[architecture];
  if (!program) throw new Error(`no probe program for the architecture ${architecture}`);
  return elfFile(program.machine, program.code);
}

/** An ELF64 executable with one segment that is loaded and entered right behind the headers. */
function elfFile(machine: number, code: Buffer): Buffer {
  const base = 0x400000n;
  const headers = Buffer.alloc(64 + 56);
  headers.write('\x7fELF\x02\x01\x01', 0, 'latin1');
  headers.writeUInt16LE(2, 16); // e_type: executable
  headers.writeUInt16LE(machine, 18);
  headers.writeUInt32LE(1, 20); // e_version
  headers.writeBigUInt64LE(base + BigInt(headers.length), 24); // e_entry
  headers.writeBigUInt64LE(64n, 32); // e_phoff
  headers.writeUInt16LE(64, 52); // e_ehsize
  headers.writeUInt16LE(56, 54); // e_phentsize
  headers.writeUInt16LE(1, 56); // e_phnum
  const size = BigInt(headers.length + code.length);
  headers.writeUInt32LE(1, 64); // p_type: load
  headers.writeUInt32LE(5, 68); // p_flags: read, execute
  headers.writeBigUInt64LE(base, 80); // p_vaddr
  headers.writeBigUInt64LE(base, 88); // p_paddr
  headers.writeBigUInt64LE(size, 96); // p_filesz
  headers.writeBigUInt64LE(size, 104); // p_memsz
  headers.writeBigUInt64LE(0x1000n, 112); // p_align
  return Buffer.concat([headers, code]);
}

function littleEndianWords(words: readonly number[]): Buffer {
  const bytes = Buffer.alloc(words.length * 4);
  for (const [index, word] of words.entries()) bytes.writeUInt32LE(word, index * 4);
  return bytes;
}
