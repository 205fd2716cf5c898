-- One row for all servers that share this database. The key is hex: both drivers read text alike.

create table kb.installation (
  only_row boolean primary key default true,
  id uuid not null,
  agent_key text not null,

  constraint only_row_true check (only_row),
  constraint agent_key_hex check (agent_key ~ '^[0-9a-f]{64}$')
);
