// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
	"github.com/fairlead-dev/fairlead/controllers/chaospod"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/fingerprint"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/sources"
	"github.com/fairlead-dev/fairlead/internal/argorollouts"
	"github.com/fairlead-dev/fairlead/internal/disruption"
	"github.com/fairlead-dev/fairlead/internal/events"
	"github.com/fairlead-dev/fairlead/internal/freeze"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
	"github.com/fairlead-dev/fairlead/internal/workloadkinds"
)

// kinds are those that decide what restarts.
var kinds = append([]string{inspect.ExternalService, inspect.RebootPolicy, inspect.ChaosPod}, inspect.Workloads()...)

// maxNamespaces is how many namespaces are listed one by one. With more of them, all are listed at once.
const maxNamespaces = 5

// unlimited is more than the operator allows the cluster, which the user does not know.
const unlimited = 1 << 30

// world holds the objects as they are, and as they would be after the change.
type world struct {
	options   Options
	key       *fingerprint.Key
	is        *inspect.Snapshot
	objects   map[inspect.Key]client.Object // that are
	replaced  map[inspect.Key]client.Object // that would be
	was, will *sources.Assumed
	changed   []Source
	rollouts  []inspect.Key
	notes     []string
	unread    []inspect.Unread
	// hasEveryBlackout: those in the configuration of the operator were read.
	hasEveryBlackout bool
	freeze           freeze.State
	// hasCluster means that a ClusterRebootPolicy would be applied, and deleted are the policies that would go with it.
	hasCluster   bool
	deleted      map[inspect.Key]bool
	newPolicies  []newPolicy
	newWorkloads []string
}

// newPolicy is a policy that does not exist yet, as it is named in sentences.
type newPolicy struct {
	name   string
	policy *autorebootv1.RebootPolicy
}

func newWorld(o Options) *world {
	var secret [fingerprint.Size]byte
	_, _ = rand.Read(secret[:])             // it never fails
	key, _ := fingerprint.NewKey(secret[:]) // it has the size
	was := sources.NewAssumed(key, nil)
	return &world{options: o, key: key, objects: map[inspect.Key]client.Object{}, replaced: map[inspect.Key]client.Object{},
		deleted: map[inspect.Key]bool{}, was: was, will: sources.NewAssumed(key, was)}
}

// read reads what is in namespaces.
func (w *world) read(ctx context.Context, namespaces []string) error {
	if len(namespaces) > maxNamespaces {
		namespaces = []string{metav1.NamespaceAll}
	}
	w.is = &inspect.Snapshot{}
	for _, namespace := range namespaces {
		of := kinds
		if w.hasCluster {
			of = append(slices.Clone(kinds), inspect.ClusterRebootPolicy)
		}
		part, err := inspect.ReadOf(ctx, w.options.Reader, namespace, of...)
		if err != nil {
			return err
		}
		w.is.Objects = append(w.is.Objects, part.Objects...)
		w.is.Unread = append(w.is.Unread, part.Unread...)
	}
	for _, o := range w.is.Objects {
		w.objects[inspect.KeyOf(o)] = o
	}
	freeze := inspect.ReadBlackouts(ctx, w.options.Reader, w.options.OperatorNamespace)
	w.unread, w.hasEveryBlackout = append(w.unread, freeze.Unread...), freeze.IsWhole
	w.freeze.Blackouts = freeze.Calendar
	return nil
}

// The values that stand for those which are not known.
var (
	former = []byte("former")
	latter = []byte("latter")
)

func refOf(key inspect.Key) sources.Ref {
	return sources.Ref{Kind: autorebootv1.SourceKind(key.Kind), Namespace: key.Namespace, Name: key.Name}
}

// assume has a source change in keys, or in all.
func (w *world) assume(ctx context.Context, key inspect.Key, keys []string) {
	var is *inspect.Source
	var unread *inspect.Unread
	external := key.Kind == inspect.SecretProviderClass // its content is outside the cluster
	if !external {
		is, unread = inspect.ReadSource(ctx, w.options.Reader, key)
	}
	ref, change := refOf(key), Changed
	switch {
	case unread != nil || external:
		if unread != nil {
			w.unread = append(w.unread, *unread)
			change = Assumed
		}
		w.was.AddUnread(ref, former)
		if len(keys) == 0 {
			w.will.AddUnread(ref, latter)
			break
		}
		w.will.AddUnread(ref, former)
		w.will.Set(ref, keys, latter)
	case is == nil:
		change = Created
		w.was.AddMissing(ref)
		w.will.AddUnread(ref, latter)
		w.will.Set(ref, keys, latter)
	default:
		all := map[string][]byte{}
		for name := range is.Data {
			all[name] = former
		}
		if len(keys) == 0 {
			keys = slices.Sorted(maps.Keys(all))
		}
		w.was.Add(ref, &is.ObjectMeta, maps.Clone(all), true)
		w.will.Add(ref, &is.ObjectMeta, all, true)
		w.will.Set(ref, keys, latter)
	}
	w.changed = append(w.changed, Source{Key: key, Change: change, Keys: w.will.Keys(ref)})
}

// apply has manifests applied.
func (w *world) apply(ctx context.Context, m *Manifests) {
	for _, key := range m.keys {
		object := m.objects[key]
		if source := inspect.SourceOf(object); source != nil {
			w.applySource(ctx, key, source)
			continue
		}
		if key.Kind == inspect.ClusterRebootPolicy {
			continue // after what they select
		}
		live := w.objects[key]
		if live == nil {
			if policy, is := object.(*autorebootv1.RebootPolicy); is {
				w.newPolicies = append(w.newPolicies, newPolicy{key.String(), policy})
			} else if inspect.IsWorkload(key.Kind) {
				w.newWorkloads = append(w.newWorkloads, key.String())
			}
			continue
		}
		template, current := workloadkinds.PodTemplate(object), workloadkinds.PodTemplate(live)
		if template != nil && !equality.Semantic.DeepDerivative(*template, *current) {
			w.rollouts = append(w.rollouts, key)
		}
		w.replaced[key] = replace(live, object)
	}
	for _, key := range m.keys {
		if of, is := m.objects[key].(*autorebootv1.ClusterRebootPolicy); is {
			w.applyCluster(ctx, key, of)
		}
	}
}

// applySource compares a source of the manifests with the one that is live.
func (w *world) applySource(ctx context.Context, key inspect.Key, source *inspect.Source) {
	is, unread := inspect.ReadSource(ctx, w.options.Reader, key)
	ref, change := refOf(key), Changed
	switch {
	case unread != nil:
		w.unread = append(w.unread, *unread)
		change = Assumed
		w.was.AddUnread(ref, former)
	case is == nil:
		change = Created
		w.was.AddMissing(ref)
	default:
		w.was.Add(ref, &is.ObjectMeta, is.Data, false)
	}
	w.will.Add(ref, &source.ObjectMeta, source.Data, false)
	if keys := w.will.Keys(ref); len(keys) > 0 || change != Changed {
		w.changed = append(w.changed, Source{Key: key, Change: change, Keys: keys})
	}
}

// replace returns what is live with the spec, labels and annotations of a manifest.
func replace(live, object client.Object) client.Object {
	merged, is := live.DeepCopyObject().(client.Object)
	if !is {
		return live
	}
	merged.SetLabels(union(live.GetLabels(), object.GetLabels()))
	merged.SetAnnotations(union(live.GetAnnotations(), object.GetAnnotations()))
	switch m := merged.(type) {
	case *appsv1.Deployment:
		if o, is := object.(*appsv1.Deployment); is {
			m.Spec = o.Spec
		}
	case *appsv1.StatefulSet:
		if o, is := object.(*appsv1.StatefulSet); is {
			m.Spec = o.Spec
		}
	case *appsv1.DaemonSet:
		if o, is := object.(*appsv1.DaemonSet); is {
			m.Spec = o.Spec
		}
	case *argorollouts.Rollout:
		if o, is := object.(*argorollouts.Rollout); is {
			m.Spec = o.Spec
		}
	case *autorebootv1.RebootPolicy:
		if o, is := object.(*autorebootv1.RebootPolicy); is && !equality.Semantic.DeepEqual(defaulted(&m.Spec), defaulted(&o.Spec)) {
			m.Spec = o.Spec
		}
	}
	return merged
}

func defaulted(spec *autorebootv1.RebootPolicySpec) *autorebootv1.RebootPolicySpec {
	policy := &autorebootv1.RebootPolicy{Spec: *spec.DeepCopy()}
	rules.Default(policy)
	return &policy.Spec
}

// union returns the labels or annotations after an apply: those that the manifest does not have stay.
func union(live, applied map[string]string) map[string]string {
	all := maps.Clone(live)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, applied)
	return all
}

// foresee has the controller decide.
func (w *world) foresee(ctx context.Context) (*Forecast, error) {
	ledger := disruption.New(disruption.Options{MaxDisrupted: unlimited})
	before := inspect.NewCache(w.is, w.options.Reader)
	after := before
	if len(w.replaced) > 0 {
		after = before.Replace(w.replaced)
	}
	_ = rebootpolicy.Restore(ctx, before, ledger) // what could not be read is unread
	_ = chaospod.Restore(ctx, before, ledger)
	f := &Forecast{Sources: w.changed, Restarts: []Restart{}, Rollouts: w.rollouts, Unread: slices.Concat(w.is.Unread, w.unread)}
	if f.Sources == nil {
		f.Sources = []Source{}
	}
	refers := w.references()
	restarted, o := map[inspect.Key]bool{}, rebootpolicy.ForecastOptions{
		Now: w.options.Now, Key: w.key, Ledger: ledger, Freeze: w.freeze, Rollouts: w.rolloutsState()}
	for _, object := range w.is.Objects {
		was, is := object.(*autorebootv1.RebootPolicy)
		if !is || !was.DeletionTimestamp.IsZero() || w.deleted[inspect.KeyOf(was)] {
			continue
		}
		will := was
		if replaced, is := w.replaced[inspect.KeyOf(was)].(*autorebootv1.RebootPolicy); is {
			will = replaced
		}
		if !refers.mayConcern(will) {
			continue
		}
		seen, err := rebootpolicy.Foresee(ctx, o, rebootpolicy.Side{Policy: was, Client: before, Sources: w.was},
			rebootpolicy.Side{Policy: will, Client: after, Sources: w.will})
		if err != nil {
			f.Unread = append(f.Unread, inspect.Unread{Resource: inspect.KeyOf(was).String(), Message: "its effect is unknown: " + err.Error()})
			continue
		}
		f.add(will, seen, refers.changed, restarted, w.options.Now)
	}
	for _, p := range w.newPolicies {
		if refers.mayConcern(p.policy) {
			f.ordered = append(f.ordered, p.name)
		}
	}
	f.addUnwatched(refers, restarted)
	f.Notes = slices.Concat(f.Notes, w.notes, w.notesOf(f))
	return f, nil
}

// rolloutsState returns whether Rollouts were read. If not, the cause is among the unread resources.
func (w *world) rolloutsState() workloadkinds.State {
	isOfThem := func(u inspect.Unread) bool { return u.Resource == inspect.Resource(inspect.Rollout).String() }
	at := slices.IndexFunc(w.is.Unread, isOfThem)
	if at < 0 {
		return workloadkinds.State{Known: true, Served: true}
	}
	return workloadkinds.State{Known: true, Unreadable: !w.is.Unread[at].IsBeyond, Why: w.is.Unread[at].Message}
}

// notesOf are about what a forecast leaves out.
func (w *world) notesOf(f *Forecast) (notes []string) {
	if len(f.ordered) > 0 {
		notes = append(notes, events.Summarize(f.ordered)+": what is restarted depends on the order. What a policy finds when it first reads a source is its baseline, and restarts nothing. "+
			"A source that is applied after that restarts the workloads that use it: apply the policy last, or run this again once it exists.")
	}
	var others []string
	for _, p := range w.newPolicies {
		if !slices.Contains(f.ordered, p.name) {
			others = append(others, p.name)
		}
	}
	if len(others) > 0 {
		notes = append(notes, events.Summarize(others)+": new; a policy takes what it finds first as its baseline, and restarts nothing for it.")
	}
	if len(w.newWorkloads) > 0 {
		notes = append(notes, events.Summarize(w.newWorkloads)+": new; the first pods have what is applied.")
	}
	if kinds := w.unreadKinds(); len(kinds) > 0 {
		notes = append(notes, "Not known: whether workloads of "+strings.Join(kinds, ", ")+" restart, which are targets of policies and are not read here.")
	}
	if len(w.replaced) > 0 {
		notes = append(notes, "A change of an ExternalService or ChaosPod is not considered, nor what other triggers than ConfigChange and CertificateRenewal see.")
	}
	if len(f.Restarts) > 0 {
		what := "the blackouts and the limit of restarts"
		if w.hasEveryBlackout {
			what = "the limit of restarts"
		}
		notes = append(notes, "Not considered: "+what+" in the configuration of the operator, and whether the other ConfigMaps and Secrets that new pods need exist.")
	}
	return notes
}
