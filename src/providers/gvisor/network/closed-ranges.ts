/**
 * Where no workspace may go: whatever is not the public internet. Host addresses need no entry, as packets to
 * them are not forwarded but come in.
 */
export const closedRanges: readonly string[] = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  // Carrier and overlay networks, and one cloud's metadata (100.100.100.200).
  '100.64.0.0/10',
  '127.0.0.0/8',
  // A cloud's agent for its virtual machines hands out their secrets here, outside of every private range.
  '168.63.129.16/32',
  // Link-local, with the metadata service (169.254.169.254) of most clouds.
  '169.254.0.0/16',
  '172.16.0.0/12',
  // Protocol assignments, with one cloud's metadata (192.0.0.192).
  '192.0.0.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  // Multicast, then what is reserved, up to the broadcast address.
  '224.0.0.0/4',
  '240.0.0.0/4',
];
