// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/installation"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
)

var leases = kind{
	Kind: "Lease", resource: "leases", group: coordinationv1.SchemeGroupVersion,
	object: func() client.Object { return &coordinationv1.Lease{} },
	list:   func() client.ObjectList { return &coordinationv1.LeaseList{} },
}

// Leader is who reconciles by one Deployment of the operator.
type Leader struct {
	// Lease is the namespace and name; empty where the replicas elect none.
	Lease string `json:"lease,omitempty"`
	// Deployment is the namespace and name; empty where Deployments could not be read.
	Deployment string `json:"deployment,omitempty"`
	// Holder is the replica that leads, or led last.
	Holder string `json:"holder,omitempty"`
	// Leads reports whether a replica leads.
	Leads bool `json:"leads"`
	// Since is when a replica led last. It may be absent.
	Since *metav1.Time `json:"since,omitempty"`
	// Message and Remedy are empty where a replica leads.
	Message string `json:"message,omitempty"`
	Remedy  string `json:"remedy,omitempty"`
	// namespaces are those whose objects it reconciles; all for none.
	namespaces []string
}

// mayReconcile reports whether objects of a namespace may be the leader's.
func (l *Leader) mayReconcile(namespace string) bool {
	return len(l.namespaces) == 0 || slices.Contains(l.namespaces, namespace)
}

// waiter is the clock that a Lease is judged by.
type waiter interface {
	Now() time.Time
	After(d time.Duration) <-chan time.Time
}

// Leaders are the leaders of a cluster, and what of them could not be read.
type Leaders struct {
	All    []Leader
	Unread []Unread
}

// ReadLeaders reads who leads. The operator is looked for in its namespace, and then in all; its Lease has the name of the
// manifests where Deployments may not be read. A Lease that seems not to be renewed is read twice, some seconds apart.
func ReadLeaders(ctx context.Context, from client.Reader, operatorNamespace string, by waiter) (l Leaders) {
	deployments, err := operatorDeployments(ctx, from, operatorNamespace)
	if err == nil && len(deployments) == 0 {
		deployments, _ = operatorDeployments(ctx, from, metav1.NamespaceAll) // few users may list all
	}
	if len(deployments) == 0 {
		election := options.Default().LeaderElection
		name := installation.LeaseOf(election, operatorNamespace)
		leader, unread := readLeader(ctx, from, name, election, by)
		switch {
		case unread != nil:
			l.Unread = append(l.Unread, *unread)
		case leader.Since == nil && !leader.Leads: // there is no Lease, and it is not known whether there should be
			l.Unread = append(l.Unread, Unread{Resource: resourceOf(name), IsBeyond: true,
				Message: "not found, so the command cannot tell whether an operator reconciles: give its namespace with --operator-namespace"})
		default:
			leader.Remedy = remedyOf(leader.Leads, "See why no pod of the operator in namespace "+name.Namespace+" leads.")
			l.All = append(l.All, leader)
		}
		return l
	}
	for i := range deployments {
		d := &deployments[i]
		configuration, _ := configurationOf(ctx, from, d) // in part, where that fails
		if !configuration.Controllers.Enabled {
			continue
		}
		leader := Leader{Leads: d.Status.AvailableReplicas > 0, Message: "its replicas elect no leader, and none is available"}
		if election := configuration.LeaderElection; election.LeaderElect {
			var unread *Unread
			leader, unread = readLeader(ctx, from, installation.LeaseOf(election, d.Namespace), election, by)
			if unread != nil {
				l.Unread = append(l.Unread, *unread)
				continue
			}
			if election.Mode == options.ElectionForLife && leader.Leads && d.Status.AvailableReplicas == 0 {
				leader.Leads, leader.Message = false, "pod "+leader.Holder+" leads for its life, and no replica is available"
			}
		}
		if leader.Leads {
			leader.Message = ""
		}
		leader.Deployment = d.Namespace + "/" + d.Name
		leader.namespaces = configuration.Namespaces
		leader.Remedy = remedyOf(leader.Leads, fmt.Sprintf("See why with `kubectl -n %s describe deployment/%s` and `kubectl -n %s logs deployment/%s`.",
			d.Namespace, d.Name, d.Namespace, d.Name))
		l.All = append(l.All, leader)
	}
	return l
}

func remedyOf(leads bool, remedy string) string {
	if leads {
		return ""
	}
	return remedy
}

func resourceOf(lease types.NamespacedName) string {
	return Key{leases.Kind, lease.Namespace, lease.Name}.resourceText(leases)
}

// readLeader reads a Lease. Without a Leader it is unread.
func readLeader(
	ctx context.Context, from client.Reader, name types.NamespacedName, election options.LeaderElection, by waiter,
) (leader Leader, unread *Unread) {
	leader.Lease = name.String()
	var before time.Time
	for again := false; ; again = true {
		var lease coordinationv1.Lease
		err := func() error {
			ctx, cancel := context.WithTimeout(ctx, requestTimeout)
			defer cancel()
			return from.Get(ctx, name, &lease)
		}()
		switch {
		case apierrors.IsNotFound(err):
			leader.Message = "no replica has led yet: there is no Lease " + leader.Lease
			return leader, nil
		case err != nil: // few users may read the namespace of the operator
			return leader, &Unread{Resource: resourceOf(name), Message: words(err, leases, "get", name.Namespace) + "; without it, the command cannot tell whether an operator reconciles", IsBeyond: true}
		}
		tenure := installation.TenureOf(&lease, election, by.Now())
		leader.Holder, leader.Leads = tenure.Holder, tenure.Holder != ""
		if !tenure.Renewed.IsZero() {
			leader.Since = &metav1.Time{Time: tenure.Renewed}
		}
		switch {
		case !leader.Leads:
			leader.Message = "no replica leads: the last one has released Lease " + leader.Lease
			return leader, nil
		case !tenure.IsSilent && !tenure.IsAhead || again && tenure.Renewed.After(before):
			leader.Since = nil
			return leader, nil
		case again:
			leader.Leads = false
			leader.Message = fmt.Sprintf("no replica leads: %s led last, and has not renewed Lease %s since then", leader.Holder, leader.Lease)
			return leader, nil
		}
		before = tenure.Renewed
		select {
		case <-ctx.Done():
			return leader, &Unread{Resource: resourceOf(name), Message: context.Cause(ctx).Error(), IsBeyond: true}
		case <-by.After(2 * election.RetryPeriod.Duration): // it is renewed once in each
		}
	}
}

// operatorDeployments are those of a namespace that run the operator.
func operatorDeployments(ctx context.Context, from client.Reader, namespace string) (found []appsv1.Deployment, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	selector, err := labels.Parse(installation.Selector)
	if err != nil {
		return nil, err
	}
	var list appsv1.DeploymentList
	matching := &client.ListOptions{Namespace: namespace, LabelSelector: selector, Limit: installation.MaxDeployments}
	if err := from.List(ctx, &list, matching); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list.Items, func(d appsv1.Deployment) bool { return installation.Manager(&d) == nil }), nil
}

// configurationOf is what a Deployment of the operator configures. Where the error is not nil, its arguments alone count.
func configurationOf(ctx context.Context, from client.Reader, d *appsv1.Deployment) (*options.Configuration, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return installation.Configuration(d, installation.Manager(d), func(name string) (*corev1.ConfigMap, error) {
		var mounted corev1.ConfigMap
		err := from.Get(ctx, client.ObjectKey{Namespace: d.Namespace, Name: name}, &mounted)
		return &mounted, err
	})
}

// SetLeaders adds who leads. Without a leader, the state of Fairlead's objects is what was recorded last, and is not known.
func (g *Graph) SetLeaders(l Leaders) {
	g.leaders, g.Unread = l.All, slices.Concat(l.Unread, g.Unread)
	for _, o := range g.Objects {
		if leader := g.leaderless(o.Key); leader != nil && o.Source != nil {
			o.Health, o.Said = Unknown, "no operator reconciles"
			if leader.Since != nil {
				o.Said += " since " + at(leader.Since)
			}
		}
	}
}

// leaderless returns who should reconcile an object of Fairlead where no replica does; nil where one does or it is not known.
func (g *Graph) leaderless(of Key) (lacking *Leader) {
	if !kindOf(of.Kind).isOwned {
		return nil
	}
	for i := range g.leaders {
		switch l := &g.leaders[i]; {
		case !l.mayReconcile(of.Namespace):
		case l.Leads:
			return nil
		case lacking == nil:
			lacking = l
		}
	}
	return lacking
}

// aboutOperator is what the findings of Leaders are about.
const aboutOperator = "operator"

// finding returns that no replica leads.
func (l *Leader) finding() Finding {
	return Finding{About: aboutOperator, Status: string(Failed), Since: l.Since, Message: l.Message,
		Meaning: "What follows was recorded before, and no request by an annotation takes effect until a replica leads", Remedy: l.Remedy}
}

// Sentence returns that no replica leads, and what to do.
func (l *Leader) Sentence() string {
	said := "No operator reconciles"
	if l.Deployment != "" {
		said = "Deployment " + l.Deployment + " does not reconcile"
	}
	if l.Since != nil {
		said += " since " + at(l.Since)
	}
	return said + ": " + l.Message + ". What is shown was recorded before. To do: " + l.Remedy
}

// Lacking are the Leaders that do not lead.
func Lacking(all []Leader) []Leader {
	return slices.DeleteFunc(slices.Clone(all), func(l Leader) bool { return l.Leads })
}

// leadersEvery is how often Live reads who leads: no event tells that a Lease is not renewed.
const leadersEvery = 10 * time.Second

// FollowLeaders keeps the Leaders of Live current until ctx ends. The first are there when it returns.
func (l *Live) FollowLeaders(ctx context.Context, operatorNamespace string, by clock.WithTicker) {
	read := func() {
		leaders := ReadLeaders(ctx, l.from, operatorNamespace, by)
		l.mu.Lock()
		isNew := fmt.Sprint(said(l.leaders)) != fmt.Sprint(said(leaders))
		l.leaders = leaders
		l.mu.Unlock()
		if isNew {
			l.changed()
		}
	}
	read()
	go func() {
		ticker := by.NewTicker(leadersEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C():
				read()
			}
		}
	}()
}

// said is what is shown of Leaders.
func said(l Leaders) (all []string) {
	for _, lacking := range Lacking(l.All) {
		all = append(all, lacking.Sentence())
	}
	for _, u := range l.Unread {
		all = append(all, u.String())
	}
	return all
}

// Leaders are those that FollowLeaders has read last.
func (l *Live) Leaders() Leaders {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leaders
}

// Graph is that of the Snapshot, with the Leaders.
func (l *Live) Graph() *Graph {
	g := New(l.Snapshot())
	g.SetLeaders(l.Leaders())
	return g
}
