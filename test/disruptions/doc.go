// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package disruptions counts what ChaosPods and RebootPolicies do to the Deployments of a namespace, from
// watches of the API server alone. All kinds are in one store, whose resource versions have one order: the
// changes of all watches are put into that order, and each is judged by what held just before it.
//
// A kill is the first change that shows the end of a pod, unless a rollout ends it: the pod is of an older
// template than its Deployment has, was not evicted, and is no victim of a run under way. It lasts until
// the Deployment has as many ready pods as before it. A restart is a change of the pod template's restart-id,
// and lasts until the Deployment's status says that all pods are of that template and available. A pod is
// ready while its condition Ready is True and it is not terminating.
//
// Two disruptions of one Deployment overlap where one begins before the other has ended: two kills or
// restarts, or two entries of status.currentRun and status.inFlight that name it. Policies must use the
// strategy RolloutRestart.
//
// Ring 3: its tests are of a tool of the suites, which fail where it does.
package disruptions
