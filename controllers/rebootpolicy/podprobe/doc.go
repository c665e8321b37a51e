// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package podhealth says whether the Probe triggers of RebootPolicies fire: it has the pods of each
// workload checked, or the one host that the probe names, and counts those that are unhealthy.
//
// It never restarts anything, never runs a command in a container, and never reads pods: it checks
// those that it is given. What it says of the other side is fixed words and counts.
//
// # Pods
//
// Each pod is checked right away, or within a period where there are many, and then every period. It
// is unhealthy after failureThreshold failures in a row, be it fresh or not, and healthy with its
// first success ever and after successThreshold successes in a row later. A pod is known by its UID
// and its IP: what is known of it survives that others come and go, and that the policy's pace
// changes. A change of what is asked keeps its health and starts counting from zero.
//
// # Firing
//
// A trigger fires for a workload while at least minUnhealthy of its pods are unhealthy. A percentage
// is of all pods given, rounded up. Those of which nothing is known yet, that have no IP, or that
// cannot be asked count among them, so that they speak against firing, and never for it.
//
// Pods that another actor disrupts should not be given, nor any while a gate is closed: what was
// found out then would otherwise decide once it opens. What is given again starts with nothing known.
//
// # What may be asked
//
// Everything is dialed through Options.Dial, and judged by its policy as what has no
// approval. Where that refuses the IP of a pod since it lies among those of pods or nodes, as it should,
// it is asked again as authorized. Where it lies elsewhere in the cluster, among Services or at the
// API server, it stays refused, whatever a pod's status claims. A host gets no such second chance.
//
// A host is looked up before each check, and healthy where one of its addresses is. It is checked
// once for all workloads of the policy, and counts as one pod of each.
//
// A refusal, or a name that leads nowhere, is no failure. Where nothing can be asked for that
// reason, the Verdict's Unsupported says so.
//
// # Suspecting oneself
//
// Where most of what is checked turns bad at once, and at least three workloads have no pod left
// that responds, the fault is probably here: verdicts stay as they are until that ends. Pods that
// never answered count too, since the process may have started without a network. Package probing
// has the details; a workload counts once, however many triggers it has, and so does a host.
package podprobe
