// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package common

const (
	// ApprovedByAnnotation names the user who had the rights to what an object does. For an ExternalService these are the
	// addresses in the cluster, for a RebootPolicy what it restarts and reads. Only admission writes it: a value that a
	// user sends is replaced.
	ApprovedByAnnotation = "fairlead.dev/approved-by"

	// DependsOnAnnotation is on a Deployment, StatefulSet or DaemonSet. It lists the ExternalServices of the namespace
	// that the workload depends on, separated by commas, such as externalservice/billing-db.
	DependsOnAnnotation = "fairlead.dev/depends-on"

	// RestartOnChangeAnnotation is on a Deployment, StatefulSet or DaemonSet. It defines which changes the workload is
	// restarted for, if a RebootPolicy has a ConfigChange trigger with discovery Referenced. "true" means each ConfigMap,
	// Secret and SecretProviderClass that its pod template refers to. A list, such as
	// configmap/app,secret/login,secretproviderclass/vault, means those instead. "false" means none, and no selector of a
	// policy selects the workload.
	RestartOnChangeAnnotation = "fairlead.dev/restart-on-change"

	// IgnoreAnnotation with the value "true" is on a ConfigMap, a Secret or a workload. Policies do not find such a
	// source by a reference or a selector, nor such a workload by a selector. A policy that names the object still finds
	// it.
	IgnoreAnnotation = "fairlead.dev/ignore"

	// ManagedByLabel marks the objects that Fairlead makes for a user's object.
	ManagedByLabel = "app.kubernetes.io/managed-by"

	// ManagedBy is the value of ManagedByLabel.
	ManagedBy = "fairlead.dev"

	// FieldOwner is the server-side-apply field manager of every reconciler.
	FieldOwner = "fairlead"
)
