// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/internal/rules"
	"github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

// Object is a node of the Graph.
type Object struct {
	Key
	// Source is the object as it was read; nil where it was not.
	Source client.Object
	Health Health
	// Said is what the health was judged by, such as a reason. It may be empty.
	Said string
	// Needs are the objects that this one refers to, and NeededBy those that refer to it.
	Needs, NeededBy []Relation
}

// Relation is an edge of the Graph.
type Relation struct {
	// Role is what the object is to the other, such as "gate database".
	Role   string
	Object *Object
}

// Graph is what refers to what.
type Graph struct {
	// Objects are in the order of their kinds, namespaces and names.
	Objects []*Object
	Unread  []Unread
	byKey   map[Key]*Object
	unread  map[string]string // by kind
	leaders []Leader
	// published is of the ExternalServices that are explained.
	published map[Key]*published
	// namespace that was asked for; all where it is empty.
	namespace string
	// namespaces are labels by name, of those that matter to the object that is explained and that were read.
	namespaces map[string]labels.Set
}

// New returns the Graph of what was read. An object that another one names, and that does not exist or was not read, is a
// node without a source whose health is Unknown.
func New(s *Snapshot) *Graph {
	g := &Graph{
		Objects: make([]*Object, 0, len(s.Objects)), Unread: s.Unread, namespace: s.namespace, namespaces: s.namespaces,
		byKey: make(map[Key]*Object, len(s.Objects)), unread: map[string]string{},
	}
	for _, u := range s.Unread {
		for _, k := range kinds {
			if k.groupResource() == u.Resource {
				g.unread[k.Kind] = u.Message
			}
		}
	}
	for _, source := range s.Objects {
		g.add(source)
	}
	for _, o := range g.Objects {
		if said, isStale := s.stale[o.Kind]; isStale {
			o.Health, o.Said = Unknown, said
		}
	}
	g.sort() // so that the edges are in the same order each time
	read := len(g.Objects)
	for i := range read {
		g.relate(g.Objects[i])
	}
	if len(g.Objects) > read {
		g.sort()
	}
	return g
}

func (g *Graph) sort() {
	slices.SortFunc(g.Objects, func(a, b *Object) int { return compare(a.Key, b.Key) })
}

func compare(a, b Key) int {
	index := func(k Key) int { return slices.IndexFunc(kinds, func(one kind) bool { return one.Kind == k.Kind }) }
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(index(a), index(b)), cmp.Compare(a.Name, b.Name))
}

// add makes a node of what was read.
func (g *Graph) add(source client.Object) {
	o := &Object{Key: KeyOf(source), Source: source}
	if g.byKey[o.Key] != nil { // between two pages
		return
	}
	o.Health, o.Said = healthOf(source)
	g.byKey[o.Key] = o
	g.Objects = append(g.Objects, o)
}

// kindsByType are the names of kinds by the types of their objects.
var kindsByType = func() map[reflect.Type]string {
	types := map[reflect.Type]string{}
	for _, k := range kinds {
		types[reflect.TypeOf(k.object())] = k.Kind
	}
	return types
}()

// KeyOf returns the key of an object that was read.
func KeyOf(source client.Object) Key {
	if w, is := source.(*workload); is {
		return Key{w.Kind, w.Namespace, w.Name}
	}
	return Key{kindsByType[reflect.TypeOf(source)], source.GetNamespace(), source.GetName()}
}

// Find returns a node; nil where nothing is known of it.
func (g *Graph) Find(k Key) *Object { return g.byKey[k] }

// named returns the node of an object that another one names.
func (g *Graph) named(k Key) *Object {
	o := g.byKey[k]
	if o == nil {
		o = &Object{Key: k, Health: Unknown, Said: "it does not exist"}
		if message, unread := g.unread[k.Kind]; unread {
			o.Said = "it could not be read: " + message
		} else if kindOf(k.Kind).Kind == "" {
			o.Said = "objects of its kind are not read here"
		}
		g.byKey[k] = o
		g.Objects = append(g.Objects, o)
	}
	return o
}

// need adds an edge, once for each role.
func (g *Graph) need(from *Object, role string, kind, name string) {
	key := Key{kind, from.Namespace, name}
	if kindOf(kind).ofCluster {
		key.Namespace = ""
	}
	to := g.named(key)
	relation := Relation{role, to}
	if slices.Contains(from.Needs, relation) {
		return
	}
	from.Needs = append(from.Needs, relation)
	to.NeededBy = append(to.NeededBy, Relation{role, from})
}

// relate adds the edges that begin at an object.
func (g *Graph) relate(o *Object) {
	switch source := o.Source.(type) {
	case *autorebootv1.RebootPolicy:
		g.relatePolicy(o, source)
	case *chaosv1.ChaosPod:
		if w := source.Spec.Target.Workload; w != nil && kindOf(string(w.Kind)).Kind != "" {
			g.need(o, roleKills, string(w.Kind), w.Name)
		}
	default:
		if IsWorkload(o.Kind) {
			names, _ := rules.Dependencies(o.Source.GetAnnotations()) // Explain reports a mistake in them
			for _, name := range names {
				g.need(o, roleDeclares, ExternalService, name)
			}
		}
	}
}

// The roles that have no name of their own.
const (
	roleRestarts = "restarts"
	roleKills    = "kills pods of"
	roleDeclares = "depends on"
)

// inverse is what an object is to the one that names it.
func (r Relation) inverse() string {
	switch r.Role {
	case roleMadeBy:
		return "makes"
	case roleRestarts:
		return "restarted by"
	case roleKills:
		return "pods killed by"
	case roleDeclares:
		return "needed by"
	case roleReads:
		return "read by"
	}
	return r.Role + " of" // a gate or a trigger
}

// IsTarget reports whether one of the two restarts the other, or kills its pods.
func (r Relation) IsTarget() bool { return r.Role == roleRestarts || r.Role == roleKills }

func (g *Graph) relatePolicy(o *Object, policy *autorebootv1.RebootPolicy) {
	if name := rebootpolicy.ClusterPolicyOf(policy); name != "" {
		g.need(o, roleMadeBy, ClusterRebootPolicy, name)
	}
	for i := range policy.Spec.Gates {
		gate := &policy.Spec.Gates[i]
		if c := gate.Condition; c != nil {
			if known := kindOf(c.Kind); known.Kind != "" && known.group.Group == rebootpolicy.ResourceOf(c).Group {
				g.need(o, "gate "+gate.Name, c.Kind, c.Name)
			}
		}
	}
	for i := range policy.Spec.Triggers {
		if trigger := &policy.Spec.Triggers[i]; trigger.EndpointsChange != nil {
			g.need(o, "trigger "+trigger.Name, ExternalService, trigger.EndpointsChange.ExternalServiceName)
		}
	}
	for i := range policy.Status.Targets {
		g.need(o, roleRestarts, string(policy.Status.Targets[i].Kind), policy.Status.Targets[i].Name)
	}
	for i := range policy.Spec.Targets { // one that does not exist is not in the status
		if t := &policy.Spec.Targets[i]; t.Name != "" && t.Kind != "" {
			g.need(o, roleRestarts, string(rebootpolicy.KindsOf(t)[0]), t.Name)
		}
	}
}
