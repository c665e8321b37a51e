// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import "github.com/fairlead-dev/fairlead/api/common"

// Reasons of conditions, of endpoints (status.endpoints[].reason), and of status.history and status.fault. Reasons
// explains each.
const (
	ReasonPublished       = "Published"
	ReasonServiceConflict = "ServiceConflict"
	ReasonPolicyDenied    = "PolicyDenied"
	ReasonNoAddresses     = "NoAddresses"
	ReasonWriteRefused    = common.ReasonWriteRefused
	ReasonDraining        = "Draining"
	ReasonInvalidSpec     = common.ReasonInvalidSpec
	ReasonSuspended       = common.ReasonSuspended

	ReasonAllNamesResolved = "AllNamesResolved"
	ReasonStaticAddresses  = "StaticAddresses"
	ReasonStale            = "Stale"
	ReasonNXDomain         = "NXDomain"
	ReasonServFail         = "ServFail"
	ReasonTruncated        = "Truncated"
	ReasonAliasLoop        = "AliasLoop"
	ReasonTimeout          = "Timeout"
	ReasonDenied           = "Denied"
	ReasonResolved         = "Resolved"

	ReasonAllHealthy         = "AllHealthy"
	ReasonDegraded           = "Degraded"
	ReasonNoneHealthy        = "NoneHealthy"
	ReasonUnknown            = "Unknown"
	ReasonNoHealthCheck      = "NoHealthCheck"
	ReasonSecretUnavailable  = common.ReasonSecretUnavailable
	ReasonProbesInconclusive = common.ReasonProbesInconclusive

	ReasonMostPreferred     = "MostPreferred"
	ReasonNothingPublished  = "NothingPublished"
	ReasonPriorityUnhealthy = "PriorityUnhealthy"
	ReasonFailbackDelay     = "FailbackDelay"
	ReasonFailbackManual    = "FailbackManual"
	ReasonFaultInjected     = "FaultInjected"

	ReasonNoFaultRequested = "NoFaultRequested"
	ReasonFaultPending     = "FaultPending"
	ReasonFaultRefused     = "FaultRefused"
	ReasonFaultEnded       = "FaultEnded"

	ReasonResolving       = "Resolving"
	ReasonFirstCheck      = "FirstCheck"
	ReasonNothingPending  = common.ReasonNothingPending
	ReasonSuspendedBySpec = common.ReasonSuspendedBySpec
	ReasonNotSuspended    = common.ReasonNotSuspended

	ReasonPriorityRecovered = "PriorityRecovered"
	ReasonFailbackRequested = "FailbackRequested"
	ReasonPriorityRemoved   = "PriorityRemoved"
)

// Reasons of the last check of an address (status.endpoints[].addresses[].reason).
const (
	ProbeConnected                 = "Connected"
	ProbeRefused                   = "Refused"
	ProbeReset                     = "Reset"
	ProbeTimeout                   = "Timeout"
	ProbeUnreachable               = "Unreachable"
	ProbeTLSFailed                 = "TLSFailed"
	ProbeCertificateExpired        = "CertificateExpired"
	ProbeCertificateUntrusted      = "CertificateUntrusted"
	ProbeCertificateMismatch       = "CertificateMismatch"
	ProbeClientCertificateRequired = "ClientCertificateRequired"
	ProbeUnexpectedStatus          = "UnexpectedStatus"
	ProbeUnexpectedResponse        = "UnexpectedResponse"
	ProbeNotServing                = "NotServing"
	ProbeServiceUnknown            = "ServiceUnknown"
	ProbeHealthServiceMissing      = "HealthServiceMissing"
	ProbeProtocolError             = "ProtocolError"
	ProbeDenied                    = common.ReasonDenied
)

// Outcomes of a fault (status.fault.outcome).
const (
	FaultOutcomeRefused         = "Refused"
	FaultOutcomeDeadlineReached = "DeadlineReached"
	FaultOutcomeWithdrawn       = "Withdrawn"
	FaultOutcomeRealFailure     = "RealFailure"
	FaultOutcomeBlackout        = "Blackout"
	FaultOutcomeSpecChanged     = "SpecChanged"
	FaultOutcomeClockChanged    = "ClockChanged"
)

// Reasons of Events. Events use reasons of Ready as well.
const (
	EventAddressesLeftOut  = "AddressesLeftOut"
	EventForeignFields     = "ForeignFields"
	EventServiceReverted   = "ServiceReverted"
	EventForeignEndpoints  = "ForeignEndpoints"
	EventServiceAdopted    = "ServiceAdopted"
	EventAddressesChanged  = "AddressesChanged"
	EventResolveFailed     = "ResolveFailed"
	EventEndpointUnhealthy = "EndpointUnhealthy"
	EventEndpointHealthy   = "EndpointHealthy"
	EventFailedOver        = "FailedOver"
	EventFailedBack        = "FailedBack"
	EventFailbackRefused   = "FailbackRefused"
	EventPanicEntered      = "PanicEntered"
	EventAddressDenied     = "AddressDenied"
	EventFaultInjected     = ReasonFaultInjected
	EventFaultEnded        = ReasonFaultEnded
	EventFaultRefused      = ReasonFaultRefused
)

// Reasons explains each reason of an ExternalService.
var Reasons = []common.Reason{
	{On: "Ready=True", Name: ReasonPublished,
		Meaning: "The Service and its EndpointSlices are as the spec defines them, whatever the health of the addresses."},
	{On: "Ready=False", Name: ReasonNoAddresses,
		Meaning: "No address can be published: each is drained, unresolved, refused by the egress policy, or of a family that the Service lacks.",
		Remedy:  "Set the state of an endpoint to Active, correct its dns.name or addresses, or have an administrator allow an address in the egress policy."},
	{On: "Ready=False Stalled=True", Name: ReasonPolicyDenied,
		Meaning: "The egress policy refuses an address of the spec; the other addresses are published.",
		Remedy:  "Remove the address from spec.endpoints, or have an administrator allow it in the egress policy (docs/guides/egress.md)."},
	{On: "Ready=False Stalled=True", Name: ReasonServiceConflict,
		Meaning: "A Service of this name exists that does not belong to the object; it stays as it is.",
		Remedy:  "Delete or rename that Service; if the message offers it, adopt the Service with the annotation networking.fairlead.dev/adopt-service."},
	{On: "Ready=False Event=Warning", Name: ReasonWriteRefused,
		Meaning: "The API server refuses a write; everything else is published, and the write is retried within 30 seconds.",
		Remedy:  "Change the quota, admission policy, webhook or role that the message names."},
	{On: "Ready=False", Name: ReasonDraining,
		Meaning: "The object was deleted; its endpoints terminate, and then its Service is deleted."},
	{On: "Ready=True Ready=Unknown Resolved=Unknown Healthy=Unknown Waiting=True", Name: ReasonSuspended,
		Meaning: "spec.suspend is true: what is published stays as it was, and Ready is Unknown if the spec has unpublished changes.",
		Remedy:  "Set spec.suspend to false."},
	common.InvalidSpec,

	{On: "Resolved=True", Name: ReasonAllNamesResolved, Meaning: "Every DNS name resolves."},
	{On: "Resolved=True", Name: ReasonStaticAddresses, Meaning: "No active endpoint has a DNS name."},
	{On: "Resolved=False", Name: ReasonStale,
		Meaning: "A name does not resolve; its last addresses, or those of what it replaces, stay published.",
		Remedy:  "Check why the nameservers do not answer for dns.name, or correct the name."},
	{On: "Resolved=False", Name: ReasonNXDomain,
		Meaning: "The name does not exist, has no record of the type, or its SRV record says that there is no such service.",
		Remedy:  "Correct dns.name, or create its record."},
	{On: "Resolved=False", Name: ReasonServFail,
		Meaning: "The nameserver failed to answer for the name.",
		Remedy:  "Check why the nameserver fails for dns.name."},
	{On: "Resolved=False", Name: ReasonTimeout,
		Meaning: "The nameserver did not respond in time.",
		Remedy:  "Check whether the operator reaches its nameservers (externalServices.nameservers in the configuration)."},
	{On: "Resolved=False", Name: ReasonTruncated,
		Meaning: "The response did not fit into a datagram, and the nameserver could not be queried over TCP.",
		Remedy:  "Allow TCP to port 53 of the nameservers from the operator."},
	{On: "Resolved=False", Name: ReasonAliasLoop,
		Meaning: "The CNAME records of the name form a loop, or are more than 16.",
		Remedy:  "Correct the CNAME records."},
	{On: "Resolved=False", Name: ReasonDenied,
		Meaning: "The name points into the cluster, or only to addresses that the egress policy refuses; its last addresses stay published.",
		Remedy:  "Point the name outside of the cluster, or have an administrator allow its addresses in the egress policy (docs/guides/egress.md)."},
	{On: "Resolved=Unknown", Name: ReasonUnknown, Meaning: "A name has not been looked up yet."},
	{On: "Endpoint", Name: ReasonResolved, Meaning: "The name of the endpoint resolves."},

	{On: "Healthy=True", Name: ReasonAllHealthy, Meaning: "Every address of the published priority is healthy."},
	{On: "Healthy=False", Name: ReasonDegraded,
		Meaning: "Some addresses are unhealthy; only the healthy ones receive traffic.",
		Remedy:  "Correct each server that status.endpoints lists as Unhealthy."},
	{On: "Healthy=False", Name: ReasonNoneHealthy,
		Meaning: "No address is healthy, and none receives traffic unless spec.failover.panicThresholdPercent is set.",
		Remedy:  "Correct the servers that status.endpoints lists as Unhealthy, or spec.healthCheck."},
	{On: "Healthy=Unknown", Name: ReasonUnknown, Meaning: "No address has been checked yet, or there is none."},
	{On: "Healthy=Unknown", Name: ReasonNoHealthCheck,
		Meaning: "The spec has no healthCheck, so an address that fails stays published.",
		Remedy:  "Add spec.healthCheck to have addresses checked."},
	{On: "Healthy=Unknown Waiting=True", Name: ReasonSecretUnavailable,
		Meaning: "A Secret that healthCheck names cannot be used; nothing is checked, and health stays as it was.",
		Remedy:  "Create the Secret with the key that the message names, or grant the operator the right to get it."},
	{On: "Healthy=Unknown Waiting=True", Name: ReasonProbesInconclusive,
		Meaning: "The network of the operator is probably at fault, or the API server or all nameservers are unreachable; health stays as it was.",
		Remedy:  "Check whether the nodes of the operator reach the network, DNS and the API server."},

	{On: "FailedOver=False", Name: ReasonMostPreferred, Meaning: "The most preferred priority is published."},
	{On: "FailedOver=False", Name: ReasonNothingPublished,
		Meaning: "No priority is published.",
		Remedy:  "Read Ready, Resolved and Healthy, and correct what they name."},
	{On: "FailedOver=True History", Name: ReasonPriorityUnhealthy,
		Meaning: "A less preferred priority is published, since no more preferred one has enough healthy addresses.",
		Remedy:  "Correct the servers of the more preferred priority; a failback before that is refused."},
	{On: "FailedOver=True Waiting=True", Name: ReasonFailbackDelay,
		Meaning: "A more preferred priority is healthy again and is published after spec.failover.failbackDelay.",
		Remedy:  "Wait for the delay.", Verb: "fairlead failback"},
	{On: "FailedOver=True Waiting=True", Name: ReasonFailbackManual,
		Meaning: "A more preferred priority is healthy again and waits for your request, since spec.failover.failback is Manual.",
		Remedy:  "Make sure that the more preferred priority may receive traffic.", Verb: "fairlead failback"},
	{On: "FailedOver=True History Event=Warning", Name: ReasonFaultInjected,
		Meaning: "A fault that was injected on purpose is in effect until the time that the message names.",
		Remedy:  "Wait for the end of the fault, or end it.", Verb: "fairlead fault --undo"},

	{On: "FaultInjected=True", Name: string(FaultBlackHole),
		Meaning: "A fault was injected on purpose: no address is published as ready.",
		Remedy:  "Wait for the end of the fault, or end it.", Verb: "fairlead fault --undo"},
	{On: "FaultInjected=True", Name: string(FaultDrain),
		Meaning: "A fault was injected on purpose: nothing of one endpoint is published.",
		Remedy:  "Wait for the end of the fault, or end it.", Verb: "fairlead fault --undo"},
	{On: "FaultInjected=True", Name: string(FaultFailOver),
		Meaning: "A fault was injected on purpose: the next healthy priority is published.",
		Remedy:  "Wait for the end of the fault, or end it.", Verb: "fairlead fault --undo"},
	{On: "FaultInjected=False", Name: ReasonNoFaultRequested, Meaning: "No annotation requests a fault."},
	{On: "FaultInjected=False Waiting=True", Name: ReasonFaultPending,
		Meaning: "The requested fault has not begun: its time is in the future, or something that it depends on is not known yet.",
		Remedy:  "Wait for the fault, or withdraw it.", Verb: "fairlead fault --undo"},
	{On: "FaultInjected=False Event=Warning", Name: ReasonFaultRefused,
		Meaning: "The requested fault does not begin, for the cause in the message.",
		Remedy:  "Correct what the message names before the next request.", Verb: "fairlead fault TYPE --for 10m"},
	{On: "FaultInjected=False History Event=Normal Event=Warning", Name: ReasonFaultEnded,
		Meaning: "The fault ended; the message says why, and whether its dependants stayed ready."},

	{On: "Reconciling=True Waiting=True", Name: ReasonResolving,
		Meaning: "Names of the spec are looked up for the first time; nothing changes before that.",
		Remedy:  "Wait for a few seconds; then read Resolved."},
	{On: "Waiting=True", Name: ReasonFirstCheck,
		Meaning: "Addresses that the spec no longer selects stay published until their replacements are looked up and checked.",
		Remedy:  "Wait for the first check of the new addresses."},
	common.NothingPending, common.SuspendedBySpec, common.NotSuspended,

	{On: "Address", Name: ProbeConnected, Meaning: "The check succeeds."},
	{On: "Address", Name: ProbeRefused,
		Meaning: "The connection is refused: nothing listens at the port.",
		Remedy:  "Start the server, or correct the port."},
	{On: "Address", Name: ProbeReset,
		Meaning: "The connection is closed before the check is complete.",
		Remedy:  "Read the log of the server, or of the firewall or proxy before it."},
	{On: "Address", Name: ProbeTimeout,
		Meaning: "The check is not complete within healthCheck.timeout.",
		Remedy:  "Check for a firewall that drops packets and for load on the server, or raise healthCheck.timeout."},
	{On: "Address", Name: ProbeUnreachable,
		Meaning: "There is no route to the address.",
		Remedy:  "Correct the address, or the routes and NetworkPolicies of the operator's pods."},
	{On: "Address", Name: ProbeTLSFailed,
		Meaning: "The TLS handshake fails.",
		Remedy:  "Check that the port speaks TLS, and with which versions and ciphers."},
	{On: "Address", Name: ProbeCertificateExpired,
		Meaning: "The certificate of the server has expired or is not valid yet.",
		Remedy:  "Renew the certificate of the server."},
	{On: "Address", Name: ProbeCertificateUntrusted,
		Meaning: "No trusted authority signed the certificate of the server.",
		Remedy:  "Name its CA in healthCheck.tls.caSecretName."},
	{On: "Address", Name: ProbeCertificateMismatch,
		Meaning: "The certificate of the server is for other names.",
		Remedy:  "Set healthCheck.tls.serverName to a name of the certificate."},
	{On: "Address", Name: ProbeClientCertificateRequired,
		Meaning: "The server requires a client certificate, or refuses that of the check.",
		Remedy:  "Name one that the server accepts in healthCheck.tls.clientCertificateSecretName, or check another port."},
	{On: "Address", Name: ProbeUnexpectedStatus,
		Meaning: "The HTTP status or the code of the gRPC call is not an expected one.",
		Remedy:  "Correct the path, the headers or expectedStatuses of the check."},
	{On: "Address", Name: ProbeUnexpectedResponse,
		Meaning: "The response does not have the text that a step or expectedBody expects.",
		Remedy:  "Check the role of the server and the credentials of the check, or correct expect or expectedBody."},
	{On: "Address", Name: ProbeNotServing,
		Meaning: "The gRPC health service reports another status than SERVING.",
		Remedy:  "Check why the server reports that it does not serve."},
	{On: "Address", Name: ProbeServiceUnknown,
		Meaning: "The gRPC health service does not know the service of the check.",
		Remedy:  "Correct or remove healthCheck.grpc.service."},
	{On: "Address", Name: ProbeHealthServiceMissing,
		Meaning: "The gRPC server does not implement grpc.health.v1.Health.",
		Remedy:  "Register the health service in the server, or check with healthCheck.tcpSocket."},
	{On: "Address", Name: ProbeProtocolError,
		Meaning: "The response does not follow the protocol of the check.",
		Remedy:  "Check that the port speaks the protocol of the check, such as HTTP rather than HTTPS."},
	{On: "Address", Name: ProbeDenied,
		Meaning: "The egress policy refuses the address; it is neither checked nor published.",
		Remedy:  "Remove the address, or have an administrator allow it in the egress policy (docs/guides/egress.md)."},

	{On: "History", Name: ReasonPriorityRecovered,
		Meaning: "The more preferred priority had enough healthy addresses for spec.failover.failbackDelay."},
	{On: "History", Name: ReasonFailbackRequested, Meaning: "A user requested the failback."},
	{On: "History", Name: ReasonPriorityRemoved, Meaning: "The spec no longer has an active endpoint of the published priority."},
	{On: "History", Name: ReasonUnknown, Meaning: "The operator restarted meanwhile, so the cause is not known."},
	{On: "History", Name: ReasonNoHealthCheck, Meaning: "An edit of the spec prefers another endpoint, and there is no health check."},
	{On: "History", Name: FaultOutcomeRefused,
		Meaning: "The fault did not begin.",
		Remedy:  "Correct what the message names before the next request.", Verb: "fairlead fault TYPE --for 10m"},
	{On: "History", Name: FaultOutcomeDeadlineReached, Meaning: "The fault lasted as long as requested."},
	{On: "History", Name: FaultOutcomeWithdrawn, Meaning: "The annotation that requested the fault was removed or changed."},
	{On: "History", Name: FaultOutcomeRealFailure,
		Meaning: "Something failed that the fault did not break, so the fault was ended.",
		Remedy:  "Correct what failed before the next request.", Verb: "fairlead fault TYPE --for 10m"},
	{On: "History", Name: FaultOutcomeBlackout,
		Meaning: "A blackout of the cluster began, or the operator cannot tell whether one did.",
		Remedy:  "Wait for the end of the blackout.", Verb: "fairlead fault TYPE --for 10m"},
	{On: "History", Name: FaultOutcomeSpecChanged,
		Meaning: "The spec no longer has what the fault needs, or is suspended.",
		Remedy:  "Choose a fault that fits the spec.", Verb: "fairlead fault TYPE --for 10m"},
	{On: "History", Name: FaultOutcomeClockChanged,
		Meaning: "The clock was set back, so the operator cannot tell whether the deadline has passed.",
		Remedy:  "Synchronize the clocks of the nodes.", Verb: "fairlead fault TYPE --for 10m"},

	{On: "Event=Warning", Name: EventAddressesLeftOut,
		Meaning: "A name resolves to more than the 100 addresses that are published of it.",
		Remedy:  "Use a name with fewer addresses."},
	{On: "Event=Warning", Name: EventForeignFields,
		Meaning: "Another writer set fields of the Service that the ExternalService does not define, such as externalIPs.",
		Remedy:  "Remove the fields that the message names."},
	{On: "Event=Warning", Name: EventServiceReverted,
		Meaning: "Another writer changed fields of the Service that the ExternalService defines, such as ports or selector; they are again as the ExternalService defines them.",
		Remedy:  "Find the writer in metadata.managedFields of the Service and stop it."},
	{On: "Event=Warning", Name: EventForeignEndpoints,
		Meaning: "EndpointSlices of another writer receive traffic of the Service, unchecked and without the egress policy.",
		Remedy:  "Delete the EndpointSlices, or the Endpoints that they mirror."},
	{On: "Event=Normal", Name: EventServiceAdopted,
		Meaning: "The object took over a Service: its own without its marks, a restored one, or one that an annotation names."},
	{On: "Event=Normal", Name: EventAddressesChanged, Meaning: "A name resolves to other addresses, or the spec has other addresses."},
	{On: "Event=Warning", Name: EventResolveFailed,
		Meaning: "A name no longer resolves.",
		Remedy:  "Read Resolved for the cause."},
	{On: "Event=Warning", Name: EventEndpointUnhealthy,
		Meaning: "Addresses of an endpoint became unhealthy.",
		Remedy:  "Read status.endpoints for the cause of each."},
	{On: "Event=Normal", Name: EventEndpointHealthy, Meaning: "Addresses of an endpoint are healthy again."},
	{On: "Event=Warning", Name: EventFailedOver,
		Meaning: "A less preferred priority is published; a higher number is less preferred.",
		Remedy:  "Correct the servers of the more preferred priority."},
	{On: "Event=Normal", Name: EventFailedBack, Meaning: "A more preferred priority is published again."},
	{On: "Event=Warning", Name: EventFailbackRefused,
		Meaning: "A failback was requested, and no more preferred priority has enough healthy addresses, or a fault is injected.",
		Remedy:  "Correct the servers of the more preferred priority, or end the fault."},
	{On: "Event=Warning", Name: EventPanicEntered,
		Meaning: "No address is healthy, and all addresses of priority 0 are published as ready (panicThresholdPercent).",
		Remedy:  "Correct the servers, or spec.healthCheck."},
	{On: "Event=Warning", Name: EventAddressDenied,
		Meaning: "The egress policy refuses addresses of an endpoint.",
		Remedy:  "Remove them, or have an administrator allow them in the egress policy (docs/guides/egress.md)."},
}
