// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
	"github.com/fairlead-dev/fairlead/internal/text"
	"github.com/fairlead-dev/fairlead/internal/workloadkinds"
)

const (
	// pageSize is how many objects are listed at a time.
	pageSize = 500
	// MaxObjects bounds what is read of a kind. The others are named as unread.
	MaxObjects = 50_000
	// requestTimeout bounds a request.
	requestTimeout = 30 * time.Second
	// maxWords bounds what the API server says, in bytes.
	maxWords = 500
)

// Unread is what could not be read, and why.
type Unread struct {
	Resource string `json:"resource"`
	Message  string `json:"message"`
	// IsBeyond: the user named a namespace, and may not read this kind, which has none. The exit code is 0.
	IsBeyond bool `json:"-"`
	// isMissing: a cluster need not have the kind, and does not have it, or may not: without a right to a kind, the API server
	// does not tell whether it is there.
	isMissing bool
}

// unreadOf is what could not be read of a kind.
func unreadOf(k kind, err error, verb, namespace string) Unread {
	isAbsent, isForbidden := k.isOptional() && isNotInstalled(err), apierrors.IsForbidden(err)
	return Unread{
		Resource: k.groupResource(), Message: words(err, k, verb, namespace),
		IsBeyond:  isAbsent || k.ofCluster && namespace != "" && isForbidden,
		isMissing: isAbsent || k.isOptional() && isForbidden,
	}
}

// String is one sentence.
func (u Unread) String() string { return u.Resource + " could not be read: " + u.Message }

// HasErrors reports whether something could not be read that should have been.
func HasErrors(all []Unread) bool {
	return slices.ContainsFunc(all, func(u Unread) bool { return !u.IsBeyond })
}

// Snapshot is what a user can see at about one moment.
type Snapshot struct {
	Objects []client.Object
	Unread  []Unread
	// namespace that was asked for; all where it is empty.
	namespace string
	// stale are kinds of which the objects are as they were read before, each with a sentence about it.
	stale map[string]string
	// namespaces are labels by name, as far as they were read.
	namespaces map[string]labels.Set
}

// Read lists each kind once, in a namespace, or in all for an empty one. The error is that the API server does not answer.
func Read(ctx context.Context, from client.Reader, namespace string) (*Snapshot, error) {
	all, err := read(ctx, from, namespace, kinds)
	if err == nil {
		all.namespace = namespace
	}
	return all, err
}

// ReadOf is Read for the kinds that names have, such as RebootPolicy.
func ReadOf(ctx context.Context, from client.Reader, namespace string, names ...string) (*Snapshot, error) {
	return read(ctx, from, namespace, slices.DeleteFunc(slices.Clone(kinds), func(k kind) bool { return !slices.Contains(names, k.Kind) }))
}

func read(ctx context.Context, from client.Reader, namespace string, kinds []kind) (*Snapshot, error) {
	var group sync.WaitGroup
	parts, failed := make([]Snapshot, len(kinds)), make([]error, len(kinds))
	for i, k := range kinds {
		group.Go(func() {
			_, failed[i] = list(ctx, from, k, namespace, func(o client.Object) { parts[i].Objects = append(parts[i].Objects, o) })
			if failed[i] != nil {
				parts[i].Objects, parts[i].Unread = nil, []Unread{unreadOf(k, failed[i], "list", namespace)}
			}
		})
	}
	group.Wait()
	all, unanswered := &Snapshot{}, 0
	for i, part := range parts {
		all.Objects = append(all.Objects, part.Objects...)
		all.Unread = append(all.Unread, part.Unread...)
		if failed[i] != nil && !isAnswer(failed[i]) {
			unanswered++
		}
	}
	if unanswered == len(kinds) && unanswered > 0 {
		return nil, Unanswered(failed[0])
	}
	all.dropMissing()
	return all, nil
}

// dropMissing drops what could not be read of kinds that a cluster need not have, where no object has to do with them.
func (s *Snapshot) dropMissing() {
	if !slices.ContainsFunc(s.Objects, hasRollouts) {
		s.Unread = slices.DeleteFunc(s.Unread, func(u Unread) bool { return u.isMissing })
	}
}

// hasRollouts reports whether an object has to do with Rollouts.
func hasRollouts(object client.Object) bool {
	switch o := object.(type) {
	case *autorebootv1.RebootPolicy:
		isOne := func(t autorebootv1.TargetStatus) bool { return string(t.Kind) == Rollout }
		return slices.Contains(rebootpolicy.OptionalKinds(&o.Spec), common.WorkloadRollout) || slices.ContainsFunc(o.Status.Targets, isOne)
	case *autorebootv1.ClusterRebootPolicy:
		return slices.Contains(rebootpolicy.OptionalKinds(&o.Spec.Template.Spec), common.WorkloadRollout)
	case *chaosv1.ChaosPod:
		return o.Spec.Target.Workload != nil && string(o.Spec.Target.Workload.Kind) == Rollout
	}
	return false
}

// list calls take for each object of a kind, which has no managed fields then, and returns the resource version of the list.
func list(ctx context.Context, from client.Reader, k kind, namespace string, take func(client.Object)) (version string, err error) {
	if k.ofCluster {
		namespace = ""
	}
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		page := k.list()
		err := from.List(ctx, page, &client.ListOptions{Namespace: namespace, Limit: options.Limit, Continue: options.Continue})
		version = page.GetResourceVersion()
		return page, err
	})
	pages.PageSize, pages.PageBufferSize = pageSize, 0
	count := 0
	err = pages.EachListItem(ctx, metav1.ListOptions{}, func(item runtime.Object) error {
		object, is := item.(client.Object)
		if !is {
			return fmt.Errorf("the API server sent a %T", item)
		}
		if count++; count > MaxObjects {
			return fmt.Errorf("there are more than %d: name a namespace with -n", MaxObjects)
		}
		object.SetManagedFields(nil)
		take(object)
		return nil
	})
	return version, err
}

// Get reads one object. The error is a sentence.
func Get(ctx context.Context, from client.Reader, key Key) (client.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	k := kindOf(key.Kind)
	object := k.object()
	err := from.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: key.Name}, object)
	switch {
	case err == nil:
		return object, nil
	case isNotInstalled(err):
		return nil, errors.New(words(err, k, "get", key.Namespace))
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("there is no %s: name another, or its namespace with -n", key)
	case !isAnswer(err):
		return nil, Unanswered(err)
	}
	return nil, fmt.Errorf("%s could not be read: %s", key, words(err, k, "get", key.Namespace))
}

// Unanswered is the error where the API server is not reached.
func Unanswered(err error) error {
	return fmt.Errorf("the API server does not answer (%s): see that it runs and that the kubeconfig names it", text.Truncate(text.OneLine(err.Error()), maxWords))
}

// isAnswer reports whether an error is a response of the API server.
func isAnswer(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status)
}

// isNotInstalled reports whether the API server does not have the kind: its 404 names no object.
func isNotInstalled(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Code != http.StatusNotFound {
		return false
	}
	details := status.Status().Details
	return details == nil || details.Name == ""
}

// words say why something could not be read, and what to do.
func words(err error, k kind, verb, namespace string) string {
	where := "in all namespaces"
	if namespace != "" && !k.ofCluster {
		where = "in namespace " + namespace
	}
	switch {
	case isNotInstalled(err) && k.isOptional():
		return workloadkinds.Rollouts.NotServed()
	case isNotInstalled(err):
		return "its CRD " + k.groupResource() + " is not installed: install Fairlead, or ask for another cluster with --context"
	case apierrors.IsForbidden(err):
		return "you have no permission: grant " + verb + " on " + k.groupResource() + " " + where
	case apierrors.IsUnauthorized(err):
		return "the API server does not know this user: renew the credentials of the kubeconfig"
	}
	return text.Truncate(text.OneLine(err.Error()), maxWords)
}

// ReadWith reads one object by its name, and each kind of its namespace once that its Explanation may name. The object is
// explained also where its kind may not be listed.
func ReadWith(ctx context.Context, from client.Reader, key Key) (*Graph, *Object, error) {
	object, err := Get(ctx, from, key)
	if err != nil {
		return nil, nil, err
	}
	if pod, is := object.(*corev1.Pod); is {
		return readWithWorkload(ctx, from, key, pod)
	}
	if key.Kind == Secret || key.Kind == ConfigMap {
		return readWithReaders(ctx, from, key, object)
	}
	all, err := read(ctx, from, key.Namespace, besides(object))
	if err != nil {
		return nil, nil, err
	}
	all.Objects = append([]client.Object{object}, all.Objects...)
	graph := New(all)
	isClusterPolicy := func(o *Object) bool { return o.Kind == ClusterRebootPolicy }
	if IsWorkload(key.Kind) && slices.ContainsFunc(graph.Objects, isClusterPolicy) || key.Kind == ClusterRebootPolicy {
		graph.readNamespaces(ctx, from, key)
	}
	if key.Kind == ExternalService {
		graph.ReadPublished(ctx, from, key)
	}
	return graph, graph.Find(key), nil
}

// besides returns the kinds of objects that the Explanation of an object may name: those that it names, those that may name it,
// and all where it waits for an object that waits itself.
func besides(object client.Object) []kind {
	graph := New(&Snapshot{Objects: []client.Object{object}})
	o := graph.Find(KeyOf(object))
	return slices.DeleteFunc(slices.Clone(kinds), func(k kind) bool {
		switch o.Kind {
		case ChaosPod:
			return k.Kind == ClusterRebootPolicy
		case ExternalService: // policies and workloads depend on it
			return k.Kind == ExternalService || k.Kind == ChaosPod || k.Kind == ClusterRebootPolicy
		case ClusterRebootPolicy: // why a namespace has no policy is told by its workloads and its policies
			return k.Kind == ExternalService || k.Kind == ChaosPod || k.Kind == ClusterRebootPolicy
		case RebootPolicy: // a gate that is a ChaosPod or a workload waits for what acts on that
			isGate := func(r Relation) bool { return strings.HasPrefix(r.Role, "gate ") && r.Object.Kind != ExternalService }
			isNamed := func(r Relation) bool { return r.Object.Kind == k.Kind }
			if k.Kind == ClusterRebootPolicy {
				return !slices.ContainsFunc(o.Needs, isNamed)
			}
			return !slices.ContainsFunc(o.Needs, isGate) && !slices.ContainsFunc(o.Needs, isNamed)
		}
		return false
	})
}
