-- Times have milliseconds, what a JavaScript Date holds: a time that was read and sent back still equals the
-- stored one, and list cursors rest on that.

create table kb.agent_workspaces (
  id uuid primary key,
  owner text not null,
  agent_session_id text,
  container_type text not null,
  provider text not null,
  provider_workspace_id text not null,
  image text not null,
  repository_url text,
  branch text,
  deployment_mode text not null,
  lifecycle text not null,
  status text not null,
  status_reason text,
  desired_state text not null,
  network text not null,
  resource_limits jsonb not null,
  snapshot_id text,
  mcp_config jsonb,
  metadata jsonb not null,
  created_at timestamptz(3) not null,
  last_used_at timestamptz(3) not null,
  expires_at timestamptz(3),
  version bigint not null default 1,

  constraint container_type_known check (container_type in ('agent_workspace', 'mcp_server')),
  -- Providers are added in code, so only the shape of the name is fixed here.
  constraint provider_name check (provider ~ '^[a-z][a-z0-9_-]{0,62}$'),
  constraint deployment_mode_known check (deployment_mode in ('self-hosted', 'managed')),
  constraint lifecycle_known check (lifecycle in ('ephemeral', 'persistent')),
  constraint status_known check (
    status in ('creating', 'ready', 'stopping', 'stopped', 'resuming', 'warm', 'destroying', 'error')
  ),
  constraint desired_state_known check (desired_state in ('running', 'stopped')),
  constraint network_known check (network in ('nat', 'isolated')),
  constraint resource_limits_shape check (
    case
      when jsonb_typeof(resource_limits) = 'object' then
        resource_limits - array['cpu', 'memory_bytes', 'disk_bytes'] = '{}'
        and jsonb_path_exists(resource_limits, 'strict $ ? (
          @.cpu.type() == "number" && @.cpu > 0
          && @.memory_bytes.type() == "number" && @.memory_bytes > 0
          && @.memory_bytes.floor() == @.memory_bytes
          && @.disk_bytes.type() == "number" && @.disk_bytes > 0
          && @.disk_bytes.floor() == @.disk_bytes
        )')
      else false
    end
  ),
  constraint mcp_config_shape check (jsonb_typeof(mcp_config) = 'object'),
  constraint metadata_shape check (jsonb_typeof(metadata) = 'object'),
  constraint times_finite check (
    isfinite(created_at) and isfinite(last_used_at) and isfinite(coalesce(expires_at, created_at))
  ),
  constraint persistent_mcp_server_never_expires check (
    not (container_type = 'mcp_server' and lifecycle = 'persistent') or expires_at is null
  ),
  constraint version_positive check (version > 0)
);

-- The list: newest first, and the same for one owner.
create index agent_workspaces_newest on kb.agent_workspaces (created_at desc, id desc);
create index agent_workspaces_owner on kb.agent_workspaces (owner, created_at desc, id desc);
create index agent_workspaces_status on kb.agent_workspaces (status);
create index agent_workspaces_provider on kb.agent_workspaces (provider);
create index agent_workspaces_expiry on kb.agent_workspaces (expires_at) where expires_at is not null;

create table kb.api_tokens (
  id uuid primary key,
  name text not null,
  role text not null,
  token_hash text not null,
  created_at timestamptz(3) not null,
  revoked_at timestamptz(3),

  constraint role_known check (role in ('admin', 'agent')),
  constraint token_hash_shape check (token_hash ~ '^[0-9a-f]{64}$'),
  constraint times_finite check (isfinite(created_at) and isfinite(coalesce(revoked_at, created_at)))
);

-- Among live tokens only: a secret that was revoked may be put to use again, as when an operator returns to an
-- earlier admin token.
create unique index token_hash_unique on kb.api_tokens (token_hash) where revoked_at is null;
