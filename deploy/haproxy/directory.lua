-- Asks the shards which of them has what a request is for (docs/how-to/scale.md). DIRECTORIES has the URLs of their directories, the
-- METRICS_PORT of their serve processes, separated by spaces, in the order of the backends shard-1, shard-2, …
local directories = {}
for url in os.getenv('DIRECTORIES'):gmatch('%S+') do table.insert(directories, url) end

-- False while the checks of all serve processes of a shard fail.
local function is_up(txn, shard)
  return txn.f:nbsrv('shard-' .. shard) > 0
end

-- True if a person has a session in a shard, perhaps one that has ended.
local function has_session(txn, shard)
  return txn.sf:req_cook(os.getenv('SESSION_COOKIE') .. '_' .. shard) ~= ''
end

-- Milliseconds. A shard whose directory does not answer must not hold up the requests for the others.
local TIMEOUT_MS = 2000

local function ask(directory, txn, kind, value)
  local client = core.httpclient()
  if kind == 'proof' then
    return client:post({
      url = directory .. '/shard/proof',
      headers = { ['content-type'] = { 'application/json' } },
      body = value,
      timeout = TIMEOUT_MS,
    })
  end
  return client:get({ url = directory .. '/shard/' .. kind .. '/' .. value, timeout = TIMEOUT_MS })
end

-- Makes the proxy ask the directory again if the shard in txn.shard, which the proxy remembers, is down, or if the person who names the
-- project has no session there.
core.register_action('doubt', { 'http-req' }, function(txn)
  local shard = txn:get_var('txn.shard')
  local is_stranger = txn:get_var('txn.kind') == 'project' and not has_session(txn, shard)
  if is_stranger or not is_up(txn, shard) then txn:set_var('txn.asks', true) end
end)

-- Sets txn.shard to the number of the shard that has the thing, or else of one that its project may have left for another one (409): that
-- answers 503. If none says so, a shard that the proxy remembers stays in txn.shard; without one, txn.unsure is set if one did not answer. One that is
-- down is not asked. A shard that was remembered and stays is not asked about for a moment. The shard in txn.preferred is asked first, because several may know a wallet.
core.register_action('find_shard', { 'http-req' }, function(txn)
  local kind, value = txn:get_var('txn.kind'), txn:get_var('txn.value')
  if value == nil or (kind ~= 'proof' and not value:match('^[%w_-]+$')) then return end
  local preferred = tonumber(txn:get_var('txn.preferred')) or 1
  local is_sure, moving = true, nil
  for step = 0, #directories - 1 do
    local shard = (preferred - 1 + step) % #directories + 1
    local answer = is_up(txn, shard) and ask(directories[shard], txn, kind, value)
    local status = answer and answer.status
    if status == 204 then
      if shard == txn:get_var('txn.shard') then txn:set_var('txn.is_brief', true) end
      txn:set_var('txn.shard', shard)
      return
    end
    if status == 409 then moving = shard else is_sure = is_sure and status == 404 end
  end
  if moving then
    txn:set_var('txn.shard', moving)
  elseif txn:get_var('txn.shard') then
    txn:set_var('txn.is_brief', true)
  elseif not is_sure then
    txn:set_var('txn.unsure', true)
  end
end)

-- While the shard in txn.preferred is down, changes it to one that is up. The person's cookie stays. A person who is signed in to
-- the first shard only is not answered by another one, which would say that there is no session.
core.register_action('find_other', { 'http-req' }, function(txn)
  local preferred = tonumber(txn:get_var('txn.preferred')) or 1
  if is_up(txn, preferred) then return end
  local is_bound = txn:get_var('txn.console') and has_session(txn, preferred)
  for step = 1, #directories - 1 do
    local shard = (preferred - 1 + step) % #directories + 1
    if is_up(txn, shard) and (not is_bound or has_session(txn, shard)) then
      txn:set_var('txn.preferred', shard)
      txn:set_var('txn.moves', false)
      return
    end
  end
end)
