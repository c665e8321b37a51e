// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package podprobe runs the checks of the Probe triggers of RebootPolicies: of the pods of each workload, or of the one
// host that a probe names. A trigger fires while enough of the pods are unhealthy.
//
// Its prober sends the requests of verification.probes as well, for package clientprobe.
//
// It never restarts anything, and never reads pods: it checks those that it is given (set.go). Its results have fixed words and counts.
//
// # Pods
//
// Each pod is checked at once, or within an interval if there are many, and then every interval. It is unhealthy after
// failureThreshold failures in a row, and healthy with its first success ever, and later after successThreshold
// successes in a row. A pod is identified by its UID and its IP: its health is kept when other pods come and go, and
// when the interval changes. When the check itself changes, no pod has a result: what it asks now may never have succeeded.
//
// # Firing
//
// A trigger fires for a workload while at least minUnhealthy of its pods are unhealthy. A percentage is of all pods
// given, rounded up. Pods without a result, an IP or the port, or that cannot be checked count among them, so that they
// prevent firing and never cause it.
//
// Pods that are being disrupted should not be given, nor any while a gate is closed: the results would count once it
// opens. A pod that is given again starts without a result.
//
// # What may be checked
//
// Everything is dialed through Options.Dial, as a target without approval. If the egress policy refuses the IP of a pod
// because it is in the range of pods or nodes, it is dialed again as authorized (dial.go). An IP elsewhere in the
// cluster, of a Service or the API server, stays refused, whatever a pod's status claims; so does a host.
//
// A host is resolved before each check, and healthy if one of its addresses is. It is checked once for all workloads of
// the policy, and counts as one pod of each.
//
// A refusal, or a name without addresses, is no failure. If nothing can be checked for that reason, Result.Unsupported
// says so.
//
// # Self-suspicion
//
// If most of the checks fail at once, and at least three workloads have no pod left that responds, this process is
// probably at fault: results stay as they are until that ends. Pods that never responded count as well, since the
// process may have started without a network. See package probe. A workload counts once, however many triggers it has,
// and so does a host.
package podprobe
