// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/references"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/sources"
	"github.com/fairlead-dev/fairlead/internal/argorollouts"
	"github.com/fairlead-dev/fairlead/internal/events"
	"github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
	"github.com/fairlead-dev/fairlead/internal/workloadkinds"
)

// The roles of what pods read, and of their workloads.
const (
	roleReads = "reads"
	rolePodOf = "pod of"
)

// rootCAs is the ConfigMap that each pod gets at admission, and that the kubelet keeps current.
const rootCAs = "kube-root-ca.crt"

// Everywhere returns the objects of a kind and a name, in all namespaces.
func Everywhere(ctx context.Context, from client.Reader, key Key) (found []Key, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	k, list := kindOf(key.Kind), &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(k.group.WithKind(k.Kind + "List"))
	err = from.List(ctx, list, &client.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", key.Name)})
	switch {
	case err != nil && !isAnswer(err):
		return nil, Unanswered(err)
	case err != nil:
		return nil, fmt.Errorf("%s could not be read: %s", k.groupResource(), words(err, k, "list", ""))
	}
	for i := range list.Items {
		if list.Items[i].Name == key.Name {
			found = append(found, Key{key.Kind, list.Items[i].Namespace, key.Name})
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("there is no %s in any namespace: name another", key)
	}
	return found, nil
}

// TemplateOf returns the pod template of a workload; nil for another object. That of a Rollout may be in a Deployment, which find
// returns.
func TemplateOf(object client.Object, find func(Key) client.Object) *corev1.PodTemplateSpec {
	if r, is := object.(*argorollouts.Rollout); is && r.Spec.WorkloadRef != nil { // of another kind it is not read
		if of := find(Key{Kind: r.Spec.WorkloadRef.Kind, Namespace: r.Namespace, Name: r.Spec.WorkloadRef.Name}); of != nil {
			return workloadkinds.PodTemplate(of)
		}
	}
	return workloadkinds.PodTemplate(object)
}

// SourcesOf returns the ConfigMaps, Secrets and SecretProviderClasses that a workload refers to, in its pod template or by an
// annotation of Fairlead, Reloader or Wave.
func SourcesOf(w *rebootpolicy.Workload, template *corev1.PodTemplateSpec) map[rebootpolicy.SourceName]bool {
	found := map[rebootpolicy.SourceName]bool{}
	for _, ref := range references.Of(template) {
		found[ref.Source()] = true
	}
	for _, compatibility := range []autorebootv1.Compatibility{"", autorebootv1.CompatibilityReloader, autorebootv1.CompatibilityWave} {
		onChange := rebootpolicy.OnChangeOf(compatibility, w)
		for _, name := range onChange.Names() {
			found[name] = true
		}
	}
	return found
}

// WorkloadOf returns what rules read of a workload.
func WorkloadOf(key Key, object client.Object, template *corev1.PodTemplateSpec) rebootpolicy.Workload {
	return rebootpolicy.Workload{
		Kind: common.WorkloadKind(key.Kind), Namespace: key.Namespace, Name: key.Name,
		Labels: object.GetLabels(), Annotations: object.GetAnnotations(), TemplateAnnotations: template.Annotations,
	}
}

// readWithReaders reads what reads a ConfigMap or Secret, and what restarts that.
func readWithReaders(ctx context.Context, from client.Reader, key Key, object client.Object) (*Graph, *Object, error) {
	all, err := read(ctx, from, key.Namespace, slices.DeleteFunc(slices.Clone(kinds), func(k kind) bool { return k.ofCluster }))
	if err != nil {
		return nil, nil, err
	}
	graph := New(all)
	o := &Object{Key: key, Source: object, Health: Healthy}
	graph.byKey[key] = o
	source := func(k Key) client.Object {
		if found := graph.Find(k); found != nil {
			return found.Source
		}
		return nil
	}
	name, count := rebootpolicy.SourceName{Kind: autorebootv1.SourceKind(key.Kind), Name: key.Name}, 0
	for _, w := range graph.Objects {
		if w.Source == nil || !IsWorkload(w.Kind) {
			continue
		}
		template := TemplateOf(w.Source, source)
		if template == nil {
			continue
		}
		if of := WorkloadOf(w.Key, w.Source, template); SourcesOf(&of, template)[name] {
			graph.need(w, roleReads, key.Kind, key.Name)
			count++
		}
	}
	o.Health = graph.healthOfRestartsFor(key)
	o.Said = writtenText(object) + ", and " + events.Plural(count, "workload reads it", "workloads read it")
	graph.Objects = append(graph.Objects, o)
	graph.sort()
	return graph, o, nil
}

// healthOfRestartsFor judges a source by the restarts of what is restarted for it.
func (g *Graph) healthOfRestartsFor(source Key) Health {
	health := Healthy
	for _, o := range g.Objects {
		policy, is := o.Source.(*autorebootv1.RebootPolicy)
		if !is {
			continue
		}
		for i := range policy.Status.Targets {
			t := &policy.Status.Targets[i]
			isTarget := func(f autorebootv1.InFlightRestart) bool { return f.UID == t.UID }
			switch {
			case !isWatched(t, source):
			case t.Pending != nil:
				return Waiting
			case slices.ContainsFunc(policy.Status.InFlight, isTarget):
				health = Progressing
			}
		}
	}
	return health
}

// isWatched reports whether a policy restarts a target when a source changes.
func isWatched(t *autorebootv1.TargetStatus, source Key) bool {
	return slices.ContainsFunc(t.Baselines, func(b autorebootv1.Baseline) bool { return b.Source == source.Kind+"/"+source.Name })
}

// writtenText is when the content of a ConfigMap or Secret was written.
func writtenText(object client.Object) string {
	written, by := lastWrite(object)
	text := "its content was written at " + at(&metav1.Time{Time: written})
	if by != "" {
		text += " by " + by
	}
	return text
}

// lastWrite returns when the content of a ConfigMap or Secret was written last, and who wrote it, if that is known.
func lastWrite(object client.Object) (written time.Time, by string) {
	if written, by = sources.LastWrite(object.GetManagedFields()); written.IsZero() {
		written = object.GetCreationTimestamp().Time
	}
	return written, by
}

// readers are the workloads that read a ConfigMap or Secret, with what restarts each and what that waits for.
func (e *explainer) readers(o *Object, depth int) (found []Finding) {
	isReader := map[*Object]bool{}
	for _, r := range o.NeededBy {
		isReader[r.Object] = true
	}
	for _, w := range e.graph.Objects {
		if !IsWorkload(w.Kind) {
			continue
		}
		by, waits := e.restartsFor(o.Key, w, depth)
		switch about := w.Kind + " " + w.Name; {
		case len(by) > 0:
			message := "RebootPolicy " + strings.Join(by, " and ") + " restarts it when the content changes"
			found = append(found, Finding{About: about, Message: message})
			found = append(found, waits...)
		case isReader[w]:
			found = append(found, Finding{About: about, Message: "it reads the content, and no RebootPolicy restarts it when that changes", Remedy: notRestarted(w)})
		}
	}
	return found
}

// restartsFor returns the policies that restart a workload when a source changes, and the findings of these restarts.
func (e *explainer) restartsFor(source Key, w *Object, depth int) (by []string, found []Finding) {
	isTarget := func(t autorebootv1.TargetStatus) bool {
		return string(t.Kind) == w.Kind && t.Name == w.Name && isWatched(&t, source)
	}
	for _, r := range w.NeededBy {
		policy, is := r.Object.Source.(*autorebootv1.RebootPolicy)
		if is && r.Role == roleRestarts && slices.ContainsFunc(policy.Status.Targets, isTarget) {
			by = append(by, policy.Name)
			found = append(found, e.restarts(w, r.Object, policy, depth+1)...)
		}
	}
	return by, found
}

// notRestarted is the remedy for a workload that no policy restarts.
func notRestarted(w *Object) string {
	return fmt.Sprintf("Create a RebootPolicy with the target %s %s and a trigger of type ConfigChange.", w.Kind, w.Name)
}

// readWithWorkload reads the workload of a pod with all that its Explanation may name, and when what the pod reads was written.
func readWithWorkload(ctx context.Context, from client.Reader, key Key, pod *corev1.Pod) (graph *Graph, o *Object, err error) {
	owner, unread := ownerOf(ctx, from, pod)
	if !IsWorkload(owner.Kind) && owner.Kind != ChaosPod {
		graph = New(&Snapshot{})
		if owner.Kind != "" { // such as a Job, which is not read
			other := &Object{Key: owner, Health: Unknown, Said: "objects of this kind are not read"}
			graph.byKey[owner], graph.Objects = other, append(graph.Objects, other)
		}
	} else if graph, _, err = ReadWith(ctx, from, owner); err != nil {
		return nil, nil, err
	}
	if unread != nil {
		graph.Unread = append(graph.Unread, *unread)
	}
	o = &Object{Key: key, Source: pod}
	o.Health, o.Said = podHealth(pod)
	graph.byKey[key] = o
	graph.Objects = append(graph.Objects, o)
	if owner.Kind != "" {
		graph.need(o, rolePodOf, owner.Kind, owner.Name)
	}
	for _, ref := range references.Of(&corev1.PodTemplateSpec{Spec: pod.Spec}) {
		k := kindOf(string(ref.Kind))
		if k.object == nil || ref.Name == rootCAs { // the content of a SecretProviderClass is not in the cluster
			continue
		}
		source := Key{k.Kind, key.Namespace, ref.Name}
		read := &Object{Key: source, Health: Healthy}
		if read.Source, err = Get(ctx, from, source); err != nil {
			read.Health, read.Said = Unknown, err.Error()
		} else {
			read.Said = writtenText(read.Source)
		}
		graph.byKey[source] = read
		graph.Objects = append(graph.Objects, read)
		graph.need(o, roleReads, source.Kind, source.Name)
	}
	graph.sort()
	return graph, o, nil
}

// ownerOf returns the workload of a pod: its controller, or that of its ReplicaSet. It is the zero key for a pod without one.
func ownerOf(ctx context.Context, from client.Reader, pod *corev1.Pod) (Key, *Unread) {
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return Key{}, nil
	}
	if owner.Kind == replicaSets.Kind {
		key := Key{replicaSets.Kind, pod.Namespace, owner.Name}
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		set := replicaSets.object()
		if err := from.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: key.Name}, set); err != nil {
			return key, &Unread{Resource: key.resourceText(replicaSets), Message: words(err, replicaSets, "get", key.Namespace)}
		}
		if of := metav1.GetControllerOf(set); of != nil {
			owner = of
		}
	}
	return Key{owner.Kind, pod.Namespace, owner.Name}, nil
}

// podHealth judges a pod by its phase and its condition Ready.
func podHealth(pod *corev1.Pod) (Health, string) {
	phase := string(cmp.Or(pod.Status.Phase, corev1.PodPending))
	switch {
	case pod.DeletionTimestamp != nil:
		return Progressing, "it is being deleted"
	case pod.Status.Phase == corev1.PodFailed:
		return Failed, strings.TrimSpace("its phase is Failed. " + pod.Status.Message)
	case pod.Status.Phase == corev1.PodSucceeded:
		return Healthy, "its phase is Succeeded"
	}
	for i := range pod.Status.Conditions {
		switch c := &pod.Status.Conditions[i]; {
		case c.Type != corev1.PodReady:
		case c.Status == corev1.ConditionTrue:
			return Healthy, "it has been ready since " + at(&c.LastTransitionTime)
		case c.Message != "":
			return Degraded, "its phase is " + phase + ", and it is not ready: " + c.Message
		}
	}
	return Degraded, "its phase is " + phase + ", and it is not ready"
}

// startOf returns when the container of a pod that started first did: what it has read is as old.
func startOf(pod *corev1.Pod) time.Time {
	start := time.Time{}
	for i := range pod.Status.ContainerStatuses {
		if r := pod.Status.ContainerStatuses[i].State.Running; r != nil && (start.IsZero() || r.StartedAt.Time.Before(start)) {
			start = r.StartedAt.Time
		}
	}
	if start.IsZero() {
		start = pod.CreationTimestamp.Time
	}
	return start
}

// pod returns what a pod reads that is newer than it is, what restarts its workload, and what that waits for.
func (e *explainer) pod(o *Object, pod *corev1.Pod, depth int) (found []Finding) {
	start := startOf(pod)
	for _, r := range o.Needs {
		if r.Role != roleReads || r.Object.Source == nil {
			continue
		}
		if written, by := lastWrite(r.Object.Source); written.After(start) {
			f := Finding{About: r.Object.Kind + " " + r.Object.Name, Since: &metav1.Time{Time: written}, Message: "the content is newer than the pod, whose containers started at " +
				at(&metav1.Time{Time: start}), Meaning: "Environment variables and files mounted by subPath still hold the old content"}
			if by != "" {
				f.Message = by + " wrote it; " + f.Message
			}
			found = append(found, f)
		}
	}
	for _, r := range o.Needs {
		if r.Role == rolePodOf && r.Object.Source != nil && IsWorkload(r.Object.Kind) {
			found = append(found, restartsOf(r.Object))
			found = append(found, e.workload(r.Object, depth+1)...)
		}
	}
	return found
}

// restartsOf returns which policies restart a workload.
func restartsOf(w *Object) Finding {
	var by []string
	for _, r := range w.NeededBy {
		if r.Role == roleRestarts && r.Object.Source != nil {
			by = append(by, r.Object.Name)
		}
	}
	if len(by) == 0 {
		return Finding{About: w.Kind + " " + w.Name, Message: "no RebootPolicy restarts it", Remedy: notRestarted(w)}
	}
	return Finding{About: w.Kind + " " + w.Name, Message: "RebootPolicy " + strings.Join(by, " and ") + " restarts it"}
}
