// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// leaseName is the one that the shipped configuration uses.
const leaseName = "fairlead-manager"

// CloneSets is the argument that has the kind of other projects which manifests of the documentation name.
const CloneSets = "--set=rebootPolicies.workloads=[{group: apps.kruise.io, kind: CloneSet, version: v1alpha1}]"

// Jobs is the argument that has CronJobs and Jobs be targets, for which GrantJobs gives the rights.
const Jobs = "--set=rebootPolicies.workloads=[{group: batch, kind: CronJob, version: v1}, {group: batch, kind: Job, version: v1}]"

// jobsRole is the Role that the chart creates for Jobs.
const jobsRole = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: fairlead-workloads}
rules:
- {apiGroups: [batch], resources: [cronjobs], verbs: [get, list, watch]}
- {apiGroups: [batch], resources: [jobs], verbs: [get, list, watch, create, delete]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: fairlead-workloads}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: fairlead-workloads}
subjects: [{kind: ServiceAccount, name: fairlead-manager, namespace: ` + Namespace + `}]
`

// GrantJobs grants the operator the rights that Jobs needs.
func (c *Cluster) GrantJobs(ctx context.Context) error {
	var problems strings.Builder
	if err := c.KubectlIO(ctx, strings.NewReader(jobsRole), io.Discard, &problems, "apply", "-f", "-"); err != nil {
		return fmt.Errorf("%w: %s", err, problems.String())
	}
	return nil
}

// Patient are arguments by which a replica loses no Lease because the machine is busy, before others. A test that kills a
// leader frees it.
func Patient(args ...string) []string {
	return append([]string{"--set=leaderElection.leaseDuration=240s", "--set=leaderElection.renewDeadline=200s"}, args...)
}

// Fill starts replicas, as Tests.OpenReplicas does, until there are two, and waits until the webhooks are reached.
func (c *Cluster) Fill(ctx context.Context) error {
	for len(c.Running()) < 2 {
		if _, err := c.StartReplica(ctx, c.args...); err != nil {
			return err
		}
	}
	return c.Reachable(ctx)
}

// Running are the replicas behind the Service.
func (c *Cluster) Running() []*Replica {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.replicas)
}

// MayBeRefusedIn says that the operator is rightly refused in a namespace, and may say so.
func (c *Cluster) MayBeRefusedIn(namespace string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refusable = append(c.refusable, namespace)
}

// shownLines bounds what a failed test shows of the beginning of each log, and of its end.
const shownLines = 100

// showLogs shows the beginning and the end of the log of each replica that ever ran.
func (c *Cluster) showLogs(t *testing.T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, replica := range c.all {
		logs, err := replica.Logs()
		if err != nil {
			t.Error(err)
		}
		lines := slices.Collect(strings.Lines(logs))
		if left := len(lines) - 2*shownLines; left > 0 {
			lines = slices.Replace(lines, shownLines, shownLines+left, fmt.Sprintf("... %d lines more ...\n", left))
		}
		t.Logf("the log of %s:\n%s", replica.ID, strings.Join(lines, ""))
	}
}

// Complaints are those of all replicas that ever ran, without those about namespaces in which the operator may be refused.
func (c *Cluster) Complaints() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(Complaints(c.all...), func(line string) bool {
		return slices.ContainsFunc(c.refusable, func(namespace string) bool { return strings.Contains(line, namespace) })
	})
}

// leading returns the replica behind the Service that leads and is through its whole start.
func (c *Cluster) leading(ctx context.Context) (*Replica, error) {
	lease, err := c.lease(ctx)
	if err != nil {
		return nil, err
	}
	holder := ptr.Deref(lease.Spec.HolderIdentity, "")
	for _, replica := range c.Running() {
		if replica.ID == holder {
			return replica, replica.Started(ctx)
		}
	}
	return nil, fmt.Errorf("the Lease is held by %q, who is none of the replicas", holder)
}

func (c *Cluster) lease(ctx context.Context) (*coordinationv1.Lease, error) {
	var lease coordinationv1.Lease
	err := c.Client.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: leaseName}, &lease)
	return &lease, err
}

// FreeLease has the Lease of a leader that was killed held by no one, as one that stops leaves it: candidates acquire it at
// once. They wait for one that was deleted as for one that is held.
func (c *Cluster) FreeLease(ctx context.Context) error {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: leaseName}}
	return c.Client.Patch(ctx, lease, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"holderIdentity":""}}`)))
}

// Leader waits for a replica behind the Service that leads and is through its whole start.
func (t *Test) Leader() *Replica {
	t.Helper()
	var leader *Replica
	t.Eventually(func() (err error) {
		leader, err = t.leading(t.Context())
		return err
	})
	return leader
}

// KillLeader ends the leader by SIGKILL, and returns when another replica leads and there are two
// again. That the Lease expires is not waited for.
func (t *Test) KillLeader() {
	t.Helper()
	killed := t.Leader()
	killed.Kill()
	t.Must(t.FreeLease(t.Context()))
	t.Retire(killed)
	t.Must(t.Fill(t.Context()))
	if t.Leader() == killed {
		t.Fatalf("%s was killed: another one must lead", killed.ID)
	}
}

// Renew stops every replica in order, and returns when one of two new ones leads. While no replica
// runs, between may change what there is; it may be nil.
func (t *Test) Renew(between func()) {
	t.Helper()
	for _, replica := range t.Running() {
		t.Retire(replica)
	}
	if between != nil {
		between()
	}
	t.Must(t.Fill(t.Context()))
	t.Leader()
}
