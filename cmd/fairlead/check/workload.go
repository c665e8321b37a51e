// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/api/common"
	installed "github.com/fairlead-dev/fairlead/cmd/fairlead/installation"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
)

// checkDeployments checks that replicas are available, and that some serve webhooks and some reconcile.
func (r *run) checkDeployments(context.Context) {
	serve, reconcile := false, false
	for _, d := range r.deployments {
		serve = serve || d.configuration.Webhook.Enabled
		reconcile = reconcile || d.configuration.Controllers.Enabled
		r.results = append(r.results, d.available())
	}
	if len(r.deployments) == 0 {
		return
	}
	const remedy = "install the other Deployment of the split layout, or let this one do both"
	if !serve {
		r.add(CheckDeployment, "namespace "+r.namespace, Failed, "no Deployment serves webhooks", remedy)
	}
	if !reconcile {
		r.add(CheckDeployment, "namespace "+r.namespace, Failed, "no Deployment reconciles", remedy)
	}
}

func (d deployment) available() Result {
	wanted, status := ptr.Deref(d.Spec.Replicas, 1), d.Status
	result := Result{CheckDeployment, d.object(), OK, fmt.Sprintf("%d of %d replicas are available", status.AvailableReplicas, wanted), ""}
	look := fmt.Sprintf("look at `kubectl -n %s describe deployment/%s` and `kubectl -n %s logs deployment/%s`", d.Namespace, d.Name, d.Namespace, d.Name)
	stuck := slices.ContainsFunc(status.Conditions, func(c appsv1.DeploymentCondition) bool {
		return c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse
	})
	switch {
	case wanted == 0:
		result.Status, result.Message, result.Remedy = Failed, "it has no replicas", "set spec.replicas; 2 are usual"
	case status.AvailableReplicas == 0, status.ObservedGeneration < d.Generation:
		result.Status, result.Remedy = Failed, look
		if status.ObservedGeneration < d.Generation {
			result.Message = "its controller has not seen the last change"
		}
	case stuck:
		result.Status, result.Remedy = Failed, look
		result.Message += ", and its rollout does not proceed"
	case status.UpdatedReplicas < wanted || status.AvailableReplicas < wanted:
		result.Status, result.Remedy = Warning, look
		result.Message += fmt.Sprintf(", and %d are of the newest revision", status.UpdatedReplicas)
	}
	return result
}

// checkLeases checks that a replica leads, and has renewed its Lease lately.
func (r *run) checkLeases(ctx context.Context) {
	for _, d := range r.deployments {
		election := d.configuration.LeaderElection
		switch {
		case !d.configuration.Controllers.Enabled:
		case !election.LeaderElect:
			status, remedy := Skipped, ""
			if ptr.Deref(d.Spec.Replicas, 1) > 1 {
				status, remedy = Failed, "set leaderElection.leaderElect or one replica: each of them reconciles"
			}
			r.add(CheckLease, d.object(), status, "its replicas elect no leader", remedy)
		default:
			r.results = append(r.results, r.checkLease(ctx, d))
		}
	}
}

func (r *run) checkLease(ctx context.Context, d deployment) Result {
	election := d.configuration.LeaderElection
	name := installed.LeaseOf(election, r.namespace)
	object := "Lease " + name.String()
	look := fmt.Sprintf("look at `kubectl -n %s logs deployment/%s`", d.Namespace, d.Name)
	var before time.Time
	for again := false; ; again = true {
		lease, err := r.options.Kubernetes.CoordinationV1().Leases(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
		if err != nil {
			return unread(CheckLease, object, "get on leases.coordination.k8s.io"+in(name.Namespace), err, "no replica has led yet: "+look)
		}
		tenure := installed.TenureOf(lease, election, r.options.Clock.Now())
		holder := tenure.Holder
		if holder == "" {
			return Result{CheckLease, object, Failed, "no replica leads", look}
		}
		if election.Mode == options.ElectionForLife {
			return Result{CheckLease, object, OK, holder + " leads for the life of its pod", ""}
		}
		if !tenure.IsSilent || again && tenure.Renewed.After(before) {
			return Result{CheckLease, object, OK, holder + " leads", ""}
		}
		if again {
			said := fmt.Sprintf("%s leads, and has not renewed it for %s", holder, common.DurationOf(tenure.Age.Round(time.Second)))
			return Result{CheckLease, object, Failed, said, look}
		}
		// This clock may be ahead of the leader's: whether the Lease is renewed is seen by looking again.
		before = tenure.Renewed
		select {
		case <-ctx.Done():
			return Result{CheckLease, object, Unchecked, brief(context.Cause(ctx)), ""}
		case <-r.options.Clock.After(min(election.LeaseDuration.Duration, 30*time.Second)):
		}
	}
}

// checkVersions compares the version of this binary with the tags of the operator's images.
func (r *run) checkVersions(context.Context) {
	for _, d := range r.deployments {
		image := installed.Manager(d.Deployment).Image
		name, _, _ := strings.Cut(image, "@")
		_, tag, tagged := strings.Cut(name[strings.LastIndex(name, "/")+1:], ":")
		result := Result{CheckVersion, d.object(), Skipped, "its image " + image + " has no tag of a version", ""}
		switch {
		case !tagged:
		case r.options.Version == "":
			result.Message = "its image is of " + tag + ", and this binary of no release"
		case tag == r.options.Version:
			result.Status, result.Message = OK, "its image is of this version, "+tag
		default:
			result.Status, result.Message = Warning, "its image is of "+tag+", and this binary of "+r.options.Version
			result.Remedy = "use the fairlead command of that version, or upgrade the operator"
		}
		r.results = append(r.results, result)
	}
}
