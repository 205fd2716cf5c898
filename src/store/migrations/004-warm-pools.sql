-- Sandboxes that are made ahead of the requests for them.

alter table kb.agent_workspaces
  -- No foreign key: the members of a pool that is no longer configured are still to be destroyed.
  add column pool text,
  add column pool_key text,
  -- The id under which the create that took it from its pool had asked for a workspace: what a server that got no
  -- answer knows it by.
  add column claimed_as uuid;

-- Nobody has made any yet. One that is there all the same is of no pool, so nobody will ever be given it.
update kb.agent_workspaces
   set status = 'destroying', status_reason = null, version = version + 1, operator = null
 where status = 'warm';

alter table kb.agent_workspaces
  add constraint pool_with_key check ((pool is null) = (pool_key is null)),
  add constraint warm_in_pool check (status <> 'warm' or pool is not null),
  add constraint member_of_pool check (
    pool is null or (
      container_type = 'agent_workspace' and status in ('creating', 'warm', 'destroying', 'error')
    )
  );

-- Who waits for a request, the longest waiting first; and who is in a pool at all.
create index agent_workspaces_waiting on kb.agent_workspaces (pool_key, created_at, id)
  where status = 'warm';
create index agent_workspaces_members on kb.agent_workspaces (pool, pool_key)
  where pool is not null;

create index agent_workspaces_claimed on kb.agent_workspaces (claimed_as)
  where claimed_as is not null;

create table kb.warm_pools (
  name text primary key,
  -- As the configuration gave it.
  configured jsonb not null,
  -- As it was last set, by the configuration or at run time.
  size integer not null,
  release text not null,

  constraint name_shape check (name ~ '^[a-z][a-z0-9-]{0,31}$'),
  constraint size_range check (size between 0 and 200),
  constraint configured_shape check (
    case
      when jsonb_typeof(configured) = 'object' then
        configured - array['size', 'provider', 'image', 'network', 'resource_limits'] = '{}'
        and jsonb_path_exists(configured, 'strict $ ? (
          @.size.type() == "number" && @.size >= 0 && @.size <= 200 && @.size.floor() == @.size
          && @.provider.type() == "string" && @.image.type() == "string"
          && @.network.type() == "string" && @.resource_limits.type() == "object"
        )')
      else false
    end
  )
);

-- What happens to the server's own parts is of no workspace.
alter table kb.workspace_events
  alter column workspace_id drop not null,
  drop constraint type_shape,
  add constraint type_shape check (type ~ '^(workspace|tool|provider|pool)\.[a-z][a-z0-9_]{0,62}$'),
  add constraint workspace_where_due check (
    (workspace_id is not null) = (type ~ '^(workspace|tool)\.')
  );

-- Takes a member for a create in one round trip, for it is the whole of what the create waits for here. No row: none
-- waits. A row without an id: as many run as may. Each of its statements sees what was committed before it began, so
-- the count is made after the lock was had.
create function kb.claim_member(
  wanted_key text,
  -- Of admissions.
  advisory_lock bigint,
  statuses text[],
  most integer,
  server integer,
  wanted jsonb,
  at timestamptz
) returns table (running bigint, member kb.agent_workspaces) language plpgsql volatile as $$
begin
  -- Where none waits, a create goes on at once to an admission of its own.
  perform 1 from kb.agent_workspaces as each where status = 'warm' and pool_key = wanted_key limit 1;
  if not found then
    return;
  end if;
  perform pg_advisory_xact_lock(advisory_lock);
  select count(*) into running
    from kb.agent_workspaces as each
   where container_type = 'agent_workspace' and status = any(statuses) and pool is null;
  select each.* into member
    from kb.agent_workspaces as each
   where status = 'warm' and pool_key = wanted_key
   order by created_at, id
   limit 1
     for update skip locked;
  if not found then
    return;
  end if;
  if running >= most then
    member := null;
    return next;
    return;
  end if;
  update kb.agent_workspaces as each
     set status = 'creating', status_reason = null, version = version + 1, operator = server,
         owner = wanted ->> 'owner', agent_session_id = wanted ->> 'agent_session_id',
         repository_url = wanted ->> 'repository_url', branch = wanted ->> 'branch',
         deployment_mode = wanted ->> 'deployment_mode', lifecycle = wanted ->> 'lifecycle',
         desired_state = wanted ->> 'desired_state',
         metadata = (wanted -> 'metadata') || metadata || jsonb_build_object('warm_pool', pool),
         sealed_env = wanted ->> 'sealed_env', announced = (wanted ->> 'announced')::boolean,
         created_at = (wanted ->> 'created_at')::timestamptz, ready_at = null,
         last_used_at = (wanted ->> 'last_used_at')::timestamptz,
         ttl_seconds = (wanted ->> 'ttl_seconds')::integer,
         expires_at = (wanted ->> 'expires_at')::timestamptz,
         pool = null, pool_key = null, claimed_as = (wanted ->> 'id')::uuid
   where each.id = member.id
  returning each.* into member;
  insert into kb.workspace_events (at, workspace_id, owner, actor, type, detail)
  values (
    at, member.id, member.owner, member.owner, 'workspace.creating',
    jsonb_build_object(
      'provider', member.provider, 'image', member.image, 'warm_pool', member.metadata -> 'warm_pool'
    )
  );
  return next;
end
$$;
