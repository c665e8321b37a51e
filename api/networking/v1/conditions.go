// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import "github.com/fairlead-dev/fairlead/api/common"

// Types of conditions. Ready, Resolved and Healthy are good when True; the others are True while something is out of the
// ordinary. All but Reconciling and Stalled are present from the first reconcile on. Tools that wait for a rollout read Ready,
// Reconciling and Stalled (kstatus): something outside being down is therefore Healthy=False and Ready=True.
const (
	// ConditionReady says that the Service and its EndpointSlices are as the spec defines them.
	ConditionReady = common.ConditionReady
	// ConditionResolved says that every DNS name resolves.
	ConditionResolved = "Resolved"
	// ConditionHealthy says that every address of the active priority is healthy.
	ConditionHealthy = "Healthy"
	// ConditionFailedOver says that a priority other than the lowest is published.
	ConditionFailedOver = "FailedOver"
	// ConditionFaultInjected says that a fault was injected into this ExternalService on purpose.
	ConditionFaultInjected = "FaultInjected"
	// ConditionWaiting says that something is to change and may not yet. It has the reason of the condition that says so.
	ConditionWaiting = common.ConditionWaiting
	// ConditionReconciling says that the spec is not carried out yet. It is absent otherwise.
	ConditionReconciling = "Reconciling"
	// ConditionStalled says that the spec cannot be carried out until a person changes it, or what it
	// conflicts with. It has the reason of Ready, and is absent otherwise.
	ConditionStalled = common.ConditionStalled
	// ConditionSuspended is True while spec.suspend is.
	ConditionSuspended = common.ConditionSuspended
)

// Reasons of Ready.
const (
	// ReasonPublished: the Service and its EndpointSlices are in place.
	ReasonPublished = "Published"
	// ReasonServiceConflict: a Service of this name exists that the ExternalService does not own. It is not
	// changed.
	ReasonServiceConflict = "ServiceConflict"
	// ReasonPolicyDenied: the operator's egress policy refuses some address.
	ReasonPolicyDenied = "PolicyDenied"
	// ReasonNoAddresses: there is no address to publish, since no name resolved yet or all
	// endpoints are drained.
	ReasonNoAddresses = "NoAddresses"
	// ReasonWriteRefused: the API server refuses a write, such as by a quota or an admission policy. The message
	// has its words; everything else is done.
	ReasonWriteRefused = common.ReasonWriteRefused
	// ReasonDraining: the object was deleted, and its endpoints are terminating.
	ReasonDraining = "Draining"
	// ReasonInvalidSpec: the stored spec breaks a rule.
	ReasonInvalidSpec = common.ReasonInvalidSpec
	// ReasonSuspended: spec.suspend is true. Ready stays true while the rest of the spec is what was last published, and is
	// Unknown otherwise.
	ReasonSuspended = common.ReasonSuspended
)

// Reasons of Resolved.
const (
	// ReasonAllNamesResolved: the last lookup of every name succeeded.
	ReasonAllNamesResolved = "AllNamesResolved"
	// ReasonStaticAddresses: no endpoint that is Active has a name.
	ReasonStaticAddresses = "StaticAddresses"
	// ReasonStale: a name does not resolve any more, and its last addresses are kept.
	ReasonStale = "Stale"
	// ReasonNXDomain: the name does not exist, or has no record of the type.
	ReasonNXDomain = "NXDomain"
	// ReasonServFail: the DNS server failed.
	ReasonServFail = "ServFail"
	// ReasonTruncated: the response did not fit into a datagram, and the DNS server could not be queried by TCP.
	ReasonTruncated = "Truncated"
	// ReasonAliasLoop: the name's aliases form a loop, or are more than 16.
	ReasonAliasLoop = "AliasLoop"
	// ReasonTimeout: the DNS server did not respond in time.
	ReasonTimeout = "Timeout"
	// ReasonDenied: the egress policy refuses every address of the response.
	ReasonDenied = "Denied"
)

// ReasonResolved is the reason of an endpoint (status.endpoints[].reason) whose name resolves. The others are those of the
// condition Resolved.
const ReasonResolved = "Resolved"

// Reasons of Healthy.
const (
	// ReasonAllHealthy: every address of the active priority is healthy.
	ReasonAllHealthy = "AllHealthy"
	// ReasonDegraded: some are.
	ReasonDegraded = "Degraded"
	// ReasonNoneHealthy: none is.
	ReasonNoneHealthy = "NoneHealthy"
	// ReasonUnknown: none was checked yet.
	ReasonUnknown = "Unknown"
	// ReasonNoHealthCheck: the spec has no healthCheck.
	ReasonNoHealthCheck = "NoHealthCheck"
	// ReasonCAUnavailable: the certificates of tls.caSecretName cannot be read, so nothing is checked;
	// health is frozen as it was.
	ReasonCAUnavailable = "CAUnavailable"
	// ReasonProbesInconclusive: so many checks fail at once that the fault is probably the operator's; health is
	// frozen as it was.
	ReasonProbesInconclusive = common.ReasonProbesInconclusive
)

// Reasons of FailedOver.
const (
	// ReasonMostPreferred: the most preferred priority is published. It goes with False, as the next one does.
	ReasonMostPreferred = "MostPreferred"
	// ReasonNothingPublished: no priority is published.
	ReasonNothingPublished = "NothingPublished"
	// ReasonPriorityUnhealthy: no more preferred one has enough healthy addresses.
	ReasonPriorityUnhealthy = "PriorityUnhealthy"
	// ReasonFailbackDelay: a more preferred priority has enough, and waits for failbackDelay to pass.
	ReasonFailbackDelay = "FailbackDelay"
	// ReasonFailbackManual: a more preferred priority has enough, and with failback Manual waits for a request.
	ReasonFailbackManual = "FailbackManual"
	// ReasonFaultInjected: a fault is injected, and ends by itself.
	ReasonFaultInjected = "FaultInjected"
)

// ReasonResolving is the reason of Reconciling: names of the spec are being looked up for the first
// time.
const ReasonResolving = "Resolving"

// Reasons of Waiting, beside those of the other conditions that say so: Suspended, Resolving, FaultPending, CAUnavailable,
// ProbesInconclusive, FailbackDelay and FailbackManual.
const (
	ReasonNothingPending = common.ReasonNothingPending
	// ReasonFirstCheck: addresses that the spec does not choose any more stay until what replaces them is looked up and checked.
	ReasonFirstCheck = "FirstCheck"
)

// Reasons of Suspended.
const (
	ReasonSuspendedBySpec = common.ReasonSuspendedBySpec
	ReasonNotSuspended    = common.ReasonNotSuspended
)

// Reasons of the last check of an address (status.endpoints[].addresses[].reason).
const (
	// ProbeConnected: the check succeeded.
	ProbeConnected = "Connected"
	// ProbeRefused: the connection was refused.
	ProbeRefused = "Refused"
	// ProbeReset: the connection was cut before the check was done.
	ProbeReset = "Reset"
	// ProbeTimeout: the check was not done within its timeout.
	ProbeTimeout = "Timeout"
	// ProbeUnreachable: there is no route to the address.
	ProbeUnreachable = "Unreachable"
	// ProbeTLSFailed: the TLS handshake failed, or the verification of the certificate for another reason than the next.
	ProbeTLSFailed = "TLSFailed"
	// ProbeCertificateExpired: the certificate has expired, or is not valid yet.
	ProbeCertificateExpired = "CertificateExpired"
	// ProbeCertificateUntrusted: no authority that is trusted has signed the certificate.
	ProbeCertificateUntrusted = "CertificateUntrusted"
	// ProbeCertificateMismatch: the certificate is for other names.
	ProbeCertificateMismatch = "CertificateMismatch"
	// ProbeClientCertificateRequired: the server requires a client certificate, which checks do not have.
	ProbeClientCertificateRequired = "ClientCertificateRequired"
	// ProbeUnexpectedStatus: the HTTP status is not an expected one, or the gRPC call ended with another code than those
	// below, such as Unauthenticated.
	ProbeUnexpectedStatus = "UnexpectedStatus"
	// ProbeNotServing: the gRPC health service reports another status than SERVING, or that the server is unavailable.
	ProbeNotServing = "NotServing"
	// ProbeServiceUnknown: the gRPC health service does not know the requested service.
	ProbeServiceUnknown = "ServiceUnknown"
	// ProbeHealthServiceMissing: the gRPC server does not implement grpc.health.v1.Health.
	ProbeHealthServiceMissing = "HealthServiceMissing"
	// ProbeProtocolError: the response did not follow the protocol.
	ProbeProtocolError = "ProtocolError"
	// ProbeDenied: the egress policy refuses the address.
	ProbeDenied = "Denied"
)
