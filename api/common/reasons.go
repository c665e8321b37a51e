// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package common

// Reason explains a reason of a condition, of an Event or of an entry of a status, and what a user can do about it.
// These rows are the only prose about reasons: docs/reference/conditions.md, `fairlead why` and `fairlead ui` print
// them. The message of the object itself gives the details.
// +kubebuilder:object:generate=false
type Reason struct {
	// On lists where the reason occurs, separated by spaces. Conditions are as `kubectl wait` names them (Ready=False).
	// The others are Events (Event=Warning) and entries of the status (History, Address, Endpoint, Trigger, Target).
	On string
	// Name is the reason. Rows about Events of the operator may have several, separated by spaces.
	Name string
	// Meaning explains the reason in one sentence.
	Meaning string
	// Remedy tells users what to do. It is empty if they need not act.
	Remedy string
	// Verb is the command that helps, without its object, such as "fairlead retry". It is empty if there is none.
	Verb string
}

// Reasons that have the same meaning in each kind.
const (
	ReasonNothingPending     = "NothingPending"
	ReasonSuspendedBySpec    = "SuspendedBySpec"
	ReasonNotSuspended       = "NotSuspended"
	ReasonSuspended          = "Suspended"
	ReasonIdle               = "Idle"
	ReasonWaiting            = "Waiting"
	ReasonHalted             = "Halted"
	ReasonForbidden          = "Forbidden"
	ReasonWriteRefused       = "WriteRefused"
	ReasonInvalidSpec        = "InvalidSpec"
	ReasonDeleting           = "Deleting"
	ReasonProbesInconclusive = "ProbesInconclusive"
	ReasonSecretUnavailable  = "SecretUnavailable"
	ReasonHostUnresolved     = "HostUnresolved"
	ReasonDenied             = "Denied"
	EventClockSkew           = "ClockSkew"
	EventRequestIgnored      = "RequestIgnored"
	EventStatusLost          = "StatusLost"
)

// Rows that are in the Reasons of several kinds.
var (
	NothingPending  = Reason{On: "Waiting=False", Name: ReasonNothingPending, Meaning: "Nothing waits."}
	SuspendedBySpec = Reason{On: "Suspended=True", Name: ReasonSuspendedBySpec,
		Meaning: "The object is suspended, since spec.suspend is true.",
		Remedy:  "Set spec.suspend to false."}
	NotSuspended = Reason{On: "Suspended=False", Name: ReasonNotSuspended, Meaning: "The object is not suspended."}
	InvalidSpec  = Reason{On: "Ready=False Stalled=True", Name: ReasonInvalidSpec,
		Meaning: "The stored spec breaks a rule; nothing new begins, and what exists stays as it is.",
		Remedy:  "Correct the field that the message names; `fairlead vet --live` finds all of them."}
	ProbesInconclusive = Reason{On: "Waiting=True", Name: ReasonProbesInconclusive,
		Meaning: "So many checks fail at once that the network of the operator is probably at fault; failed checks decide nothing meanwhile.",
		Remedy:  "Check whether the nodes of the operator reach the network, DNS and the API server."}
	ClockSkew = Reason{On: "Event=Warning", Name: EventClockSkew,
		Meaning: "A time in the status is in the future and counts as now.",
		Remedy:  "Synchronize the clocks of the nodes that run the operator."}
	RequestIgnored = Reason{On: "Event=Normal", Name: EventRequestIgnored,
		Meaning: "An annotation requests nothing, since the object had it when it was first observed, or its value is not the expected one.",
		Remedy:  "Set the annotation again, with the value that the message names."}
	StatusLost = Reason{On: "Event=Warning", Name: EventStatusLost,
		Meaning: "Another writer removed a part of the status; what exists now is the new baseline, and nothing is done for what was lost.",
		Remedy:  "Find the writer in metadata.managedFields and stop it."}
	StatusRefused = Reason{On: "Event=Warning", Name: ReasonWriteRefused,
		Meaning: "The API server refuses a write of the status; the operator does nothing for the object until a retry succeeds.",
		Remedy:  "Change the quota, admission policy or webhook that the message names."}
)

// Reasons of Events of the operator itself.
const (
	EventLeaderElected          = "LeaderElected"
	EventLeaderStopped          = "LeaderStopped"
	EventNamespaceForbidden     = "NamespaceForbidden"
	EventCertificateUnavailable = "CertificateUnavailable"
	EventWebhooksUnavailable    = "WebhooksUnavailable"
	EventCABundleNotPublished   = "CABundleNotPublished"
	EventCachesNotSynced        = "CachesNotSynced"
	EventCertificateNotUsed     = "CertificateNotUsed"
	EventNotReconciling         = "NotReconciling"
	EventClockSkewed            = "ClockSkewed"
	EventCABundleLost           = "CABundleLost"
	EventCalendarUnreadable     = "CalendarUnreadable"
	EventUndecodable            = "Undecodable"
	EventConversionFailed       = "ConversionFailed"
	// EventProbesInconclusive and EventProbesBelieved have the name of a kind as a prefix, as in
	// RebootPolicyProbesBelieved.
	EventProbesInconclusive = ReasonProbesInconclusive
	EventProbesBelieved     = "ProbesBelieved"
)

// OperatorReasons explains the reasons of the operator's own Events. They are on its Lease, on the ConfigMap
// fairlead-calendar, and on objects that cannot be read.
var OperatorReasons = []Reason{
	{On: "Event=Normal", Name: EventLeaderElected, Meaning: "A replica began to lead."},
	{On: "Event=Normal", Name: EventLeaderStopped, Meaning: "A replica stopped leading."},
	{On: "Event=Warning",
		Name:    "ExternalService" + EventProbesInconclusive + " RebootPolicy" + EventProbesInconclusive + " ChaosPod" + EventProbesInconclusive,
		Meaning: "Failed checks of the kind decide nothing, except for objects with another healthy address, since the network of the operator is probably at fault.",
		Remedy:  "Check the node of the leader, its network and its nameservers."},
	{On: "Event=Normal",
		Name:    "ExternalService" + EventProbesBelieved + " RebootPolicy" + EventProbesBelieved + " ChaosPod" + EventProbesBelieved,
		Meaning: "Failed checks of the kind decide again."},
	{On: "Event=Warning", Name: EventNamespaceForbidden,
		Meaning: "The operator has no rights in one of its namespaces and leaves that namespace out.",
		Remedy:  "Create the Role and the RoleBinding of the operator in that namespace."},
	{On: "Event=Warning", Name: EventCertificateUnavailable,
		Meaning: "A replica started without a serving certificate and tries again.",
		Remedy:  "Correct the Secret, folder or Certificate that the note names."},
	{On: "Event=Warning", Name: EventWebhooksUnavailable,
		Meaning: "A replica started, and its webhook server does not respond to itself over TLS.",
		Remedy:  "Correct what the note names; `/statusz` of the replica has the details."},
	{On: "Event=Warning", Name: EventCABundleNotPublished,
		Meaning: "A CRD or webhook configuration lacks the CA bundle of the operator, which tries again.",
		Remedy:  "Create the object that the note names, or let the operator patch it."},
	{On: "Event=Warning", Name: EventCachesNotSynced,
		Meaning: "A replica started without the cache of a kind and tries again; the other kinds are reconciled.",
		Remedy:  "Install the CRD, or grant the right to list the kind."},
	{On: "Event=Warning", Name: EventNotReconciling,
		Meaning: "A replica leads and reconciles nothing, since the CRDs call the Service of another installation.",
		Remedy:  "Uninstall one of the two installations."},
	{On: "Event=Warning", Name: EventCertificateNotUsed,
		Meaning: "A replica refuses the certificate that it last read and serves the previous one.",
		Remedy:  "Correct the certificate as the note says."},
	{On: "Event=Warning", Name: EventClockSkewed,
		Meaning: "The clock of a replica and that of the API server differ by 10 seconds or more.",
		Remedy:  "Synchronize the clocks of their nodes."},
	{On: "Event=Warning", Name: EventCABundleLost,
		Meaning: "Another writer removed the CA bundle from a CRD or a webhook configuration.",
		Remedy:  "Remove caBundle from what that writer applies."},
	{On: "Event=Warning", Name: EventCalendarUnreadable,
		Meaning: "The ConfigMap with the blackouts of the cluster cannot be read; the blackouts that were last read hold, and without any no restart begins.",
		Remedy:  "Correct the ConfigMap as the note says, or delete it if no freeze is meant."},
	{On: "Event=Warning", Name: EventUndecodable,
		Meaning: "The stored object does not fit the types of its kind; it and what was made from it stay as they are.",
		Remedy:  "Run `fairlead vet --live`, and patch the field that it names."},
	{On: "Event=Warning", Name: EventConversionFailed,
		Meaning: "The object cannot be converted, so each LIST at that version fails.",
		Remedy:  "Correct the object as the note says; all replicas must run the same image."},
}
