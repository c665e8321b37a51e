// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package common

const (
	// ApprovedByAnnotation says who was entitled to what an object does: to point an ExternalService
	// into the cluster, and for which addresses; to have a RebootPolicy restart what it restarts and
	// read what it reads. Admission alone writes it: what a user sends is replaced.
	ApprovedByAnnotation = "fairlead.dev/approved-by"

	// DependsOnAnnotation is on a Deployment, StatefulSet or DaemonSet, and declares what it needs: ExternalServices of its
	// namespace, such as externalservice/billing-db, separated by commas.
	DependsOnAnnotation = "fairlead.dev/depends-on"

	// RestartOnChangeAnnotation is on a Deployment, StatefulSet or DaemonSet, and says which changes it is restarted for where
	// a RebootPolicy of its namespace has a ConfigChange trigger with discovery Referenced: "true" for each ConfigMap and
	// Secret that its pod template refers to, and each SecretProviderClass that it mounts; or names instead, such as
	// configmap/app,secret/login,secretproviderclass/vault; "false" for none, and no selector of a policy selects it.
	RestartOnChangeAnnotation = "fairlead.dev/restart-on-change"

	// IgnoreAnnotation with the value "true" keeps a ConfigMap or Secret from being a source that is found by a reference or
	// a selector, and a workload from being a target that is found by a selector. What an object names is not ignored.
	IgnoreAnnotation = "fairlead.dev/ignore"

	// ManagedByLabel marks the objects that Fairlead makes for a user's object.
	ManagedByLabel = "app.kubernetes.io/managed-by"

	// ManagedBy is the value of ManagedByLabel.
	ManagedBy = "fairlead.dev"

	// FieldOwner is the server-side-apply field manager of every reconciler.
	FieldOwner = "fairlead"
)
