-- What Argo CD says of an ExternalService, a RebootPolicy or a ChaosPod, as kstatus does, which Flux and Helm use.
-- Only the basic functions of Lua are there.
local status = obj.status or {}
if obj.metadata.deletionTimestamp ~= nil then
  return {status = "Progressing", message = "is being deleted"}
end
if status.observedGeneration ~= obj.metadata.generation then
  return {status = "Progressing", message = "has not been reconciled yet"}
end
local ready, stalled, suspended
for _, condition in ipairs(status.conditions or {}) do
  if condition.type == "Ready" then ready = condition end
  if condition.type == "Stalled" and condition.status == "True" then stalled = condition end
  if condition.type == "Suspended" and condition.status == "True" then suspended = condition end
end
if stalled ~= nil then
  return {status = "Degraded", message = stalled.reason .. ": " .. (stalled.message or "")}
end
if suspended ~= nil then
  return {status = "Suspended", message = suspended.message or ""}
end
if ready == nil then
  return {status = "Progressing", message = "has no condition Ready yet"}
end
if ready.status == "True" then
  return {status = "Healthy", message = ready.message or ""}
end
return {status = "Progressing", message = ready.reason .. ": " .. (ready.message or "")}
