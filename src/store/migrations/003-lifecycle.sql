-- What the lifecycle needs to know of a workspace.

alter table kb.agent_workspaces
  add column sealed_env text,
  add column announced boolean not null default false,
  add column ready_at timestamptz(3),
  add column ttl_seconds integer,
  -- The number of the server that works on the row. Null in a changing status: nobody does, whoever comes may.
  add column operator integer;

update kb.agent_workspaces set ready_at = created_at where status <> 'creating';

update kb.agent_workspaces
   set ttl_seconds = least(
         greatest(60, ceil(extract(epoch from expires_at - created_at))),
         2147483647
       )::integer
 where expires_at is not null;

alter table kb.agent_workspaces
  add constraint ttl_seconds_positive check (ttl_seconds > 0),
  add constraint ready_at_finite check (isfinite(ready_at)),
  add constraint resting_without_operator check (
    status in ('creating', 'stopping', 'resuming', 'destroying') or operator is null
  );

-- Each start of a server takes a number of its own and holds an advisory lock on it while it lives.
create sequence kb.server_number as integer;

-- No foreign key: events outlive their workspace.
create table kb.workspace_events (
  id bigint generated always as identity primary key,
  -- When it happened, by the clock of the server that it happened on.
  at timestamptz(3) not null,
  -- When it was written, by this database's clock: how long a gap in the ids has stood.
  recorded_at timestamptz not null default clock_timestamp(),
  workspace_id uuid not null,
  owner text not null,
  actor text not null,
  type text not null,
  detail jsonb not null,

  -- Types are added in code, so only their shape is fixed here.
  constraint type_shape check (type ~ '^(workspace|tool)\.[a-z][a-z0-9_]{0,62}$'),
  constraint detail_shape check (jsonb_typeof(detail) = 'object'),
  constraint at_finite check (isfinite(at))
);

create index workspace_events_workspace on kb.workspace_events (workspace_id, id);
create index workspace_events_owner on kb.workspace_events (owner, id);
create index workspace_events_type on kb.workspace_events (type, id);
-- What is old, to prune; and what was just written, where a gap may still be filled.
create index workspace_events_at on kb.workspace_events (at);
create index workspace_events_recorded_at on kb.workspace_events (recorded_at);
