// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/argorollouts"
	"github.com/fairlead-dev/fairlead/internal/secretsstore"
	"github.com/fairlead-dev/fairlead/internal/workloadkinds"
)

// The kinds of Fairlead. Those of workloads are in api/common.
const (
	ExternalService = "ExternalService"
	RebootPolicy    = "RebootPolicy"
	ChaosPod        = "ChaosPod"

	ClusterRebootPolicy = "ClusterRebootPolicy"
)

// kind is one that is read.
type kind struct {
	Kind, resource string
	// short are further names that a user may give.
	short   []string
	group   schema.GroupVersion
	object  func() client.Object
	list    func() client.ObjectList
	isOwned bool // by Fairlead
	// ofCluster kinds have no namespace.
	ofCluster bool
}

var kinds = append([]kind{
	{ExternalService, "externalservices", []string{"extsvc"}, networkingv1.GroupVersion,
		func() client.Object { return &networkingv1.ExternalService{} },
		func() client.ObjectList { return &networkingv1.ExternalServiceList{} }, true, false},
	{ClusterRebootPolicy, "clusterrebootpolicies", []string{"crbp"}, autorebootv1.GroupVersion,
		func() client.Object { return &autorebootv1.ClusterRebootPolicy{} },
		func() client.ObjectList { return &autorebootv1.ClusterRebootPolicyList{} }, true, true},
	{RebootPolicy, "rebootpolicies", []string{"rbp"}, autorebootv1.GroupVersion,
		func() client.Object { return &autorebootv1.RebootPolicy{} },
		func() client.ObjectList { return &autorebootv1.RebootPolicyList{} }, true, false},
	{ChaosPod, "chaospods", []string{"chp"}, chaosv1.GroupVersion,
		func() client.Object { return &chaosv1.ChaosPod{} }, func() client.ObjectList { return &chaosv1.ChaosPodList{} }, true, false},
}, workloads()...)

func workloads() (all []kind) {
	for _, row := range workloadkinds.Known {
		all = append(all, kind{
			Kind: row.Kind, resource: row.Name().Resource(), short: []string{row.Short}, group: row.GroupVersion(), object: row.Object,
			list: func() client.ObjectList { _, list := row.New(); return list },
		})
	}
	return all
}

// Workloads returns the names of the kinds of workloads that are read.
func Workloads() (names []string) {
	for _, row := range workloadkinds.Known {
		names = append(names, row.Kind)
	}
	return names
}

// isWorkload has the kinds of Workloads.
var isWorkload = func() map[string]bool {
	is := map[string]bool{}
	for _, name := range Workloads() {
		is[name] = true
	}
	return is
}()

// IsWorkload reports whether a kind is one of workloads.
func IsWorkload(kind string) bool { return isWorkload[kind] }

// Rollout is a kind of Argo Rollouts, which few clusters have.
const Rollout = argorollouts.Kind

// isOptional reports whether a cluster need not have the kind.
func (k kind) isOptional() bool { return k.Kind == Rollout }

// Secret is a kind whose metadata alone is read, and only for Secrets that another object or the user names.
const Secret = "Secret"

var secrets = metadataOf(Secret, "secrets", corev1.SchemeGroupVersion)

// ConfigMap is a kind that is read only where it is named.
const ConfigMap = "ConfigMap"

var configMaps = metadataOf(ConfigMap, "configmaps", corev1.SchemeGroupVersion, "cm")

// Pod is a kind that is read only where it is named.
const Pod = "Pod"

var pods = kind{
	Kind: Pod, resource: "pods", short: []string{"po"}, group: corev1.SchemeGroupVersion,
	object: func() client.Object { return &corev1.Pod{} }, list: func() client.ObjectList { return &corev1.PodList{} },
}

// replicaSets are between pods and their workloads.
var replicaSets = metadataOf("ReplicaSet", "replicasets", appsv1.SchemeGroupVersion)

// metadataOf returns a kind of which metadata alone is read.
func metadataOf(name, resource string, group schema.GroupVersion, short ...string) kind {
	of := func(name string) metav1.TypeMeta { return metav1.TypeMeta{APIVersion: group.String(), Kind: name} }
	return kind{
		Kind: name, resource: resource, short: short, group: group,
		object: func() client.Object { return &metav1.PartialObjectMetadata{TypeMeta: of(name)} },
		list:   func() client.ObjectList { return &metav1.PartialObjectMetadataList{TypeMeta: of(name + "List")} },
	}
}

// SecretProviderClass is a kind that is never read: what pods have mounted of one is in an external store.
const SecretProviderClass = "SecretProviderClass"

var secretProviderClasses = kind{Kind: SecretProviderClass, resource: "secretproviderclasses", group: secretsstore.GroupVersion}

// referred lists the kinds that a pod template can refer to.
var referred = []kind{secrets, configMaps, secretProviderClasses}

// explainable are the kinds whose objects ReadWith reads.
var explainable = append(slices.Clone(kinds), secrets, configMaps, pods)

// groupResource is the name of the resource, as in rights and of a CRD.
func (k kind) groupResource() string {
	return schema.GroupResource{Group: k.group.Group, Resource: k.resource}.String()
}

var kindsByName = func() map[string]kind {
	byName := map[string]kind{}
	for _, k := range append(slices.Concat(referred, kinds), pods) {
		byName[k.Kind] = k
	}
	return byName
}()

// kindOf returns the kind of an object, or the zero kind.
func kindOf(name string) kind { return kindsByName[name] }

// Resource returns the resource of a kind.
func Resource(kind string) schema.GroupResource {
	k := kindOf(kind)
	return schema.GroupResource{Group: k.group.Group, Resource: k.resource}
}

// GroupVersionKind returns the full name of a kind.
func GroupVersionKind(kind string) schema.GroupVersionKind { return kindOf(kind).group.WithKind(kind) }

// NameOf returns a kind as kubectl prints it before a name, such as rebootpolicy.autoreboot.fairlead.dev.
func NameOf(kind string) string {
	return schema.GroupKind{Group: kindOf(kind).group.Group, Kind: strings.ToLower(kind)}.String()
}

// List returns an empty list of a kind.
func List(kind string) client.ObjectList { return kindOf(kind).list() }

// Key names an object.
type Key struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// String is the kind, the namespace and the name.
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Kind + " " + k.Name
	}
	return k.Kind + " " + k.Namespace + "/" + k.Name
}

// Argument is how a user names the object, without its namespace.
func (k Key) Argument() string { return strings.ToLower(k.Kind) + "/" + k.Name }

// ParseKey reads TYPE/NAME. The kind is that of Fairlead or of a workload, in the singular, the plural or short, with or
// without its group.
func ParseKey(argument, namespace string) (Key, error) {
	return parseKey(argument, namespace, "externalservice/billing-db", kinds)
}

// ParseSource reads TYPE/NAME of a ConfigMap, Secret or SecretProviderClass.
func ParseSource(argument, namespace string) (Key, error) {
	return parseKey(argument, namespace, "secret/db-login", referred)
}

// ParseExplained reads TYPE/NAME of what ReadWith reads: what ParseKey reads, a ConfigMap, a Secret or a Pod.
func ParseExplained(argument, namespace string) (Key, error) {
	return parseKey(argument, namespace, "deployment/web", explainable)
}

func parseKey(argument, namespace, example string, among []kind) (Key, error) {
	word, name, found := strings.Cut(argument, "/")
	if !found || name == "" || strings.Contains(name, "/") {
		return Key{}, fmt.Errorf("%q is not TYPE/NAME, such as %s", argument, example)
	}
	kind, known := parseKind(word, among)
	if !known {
		return Key{}, fmt.Errorf("unknown kind %q: use one of %s", word, strings.Join(namesOf(among), ", "))
	}
	if kindOf(kind).ofCluster {
		namespace = ""
	}
	return Key{kind, namespace, name}, nil
}

// ParseKind reads a kind as ParseKey and ParseSource do.
func ParseKind(word string) (kind string, known bool) {
	return parseKind(word, append(slices.Concat(kinds, referred), pods))
}

func parseKind(word string, among []kind) (kind string, known bool) {
	word = strings.ToLower(word)
	for _, k := range among {
		plain := strings.TrimSuffix(word, "."+k.group.Group)
		if plain == strings.ToLower(k.Kind) || plain == k.resource || slices.Contains(k.short, plain) {
			return k.Kind, true
		}
	}
	return "", false
}

// KindNames are the kinds as a user writes them.
func KindNames() []string { return namesOf(kinds) }

// SourceNames are the kinds that ParseSource reads.
func SourceNames() []string { return namesOf(referred) }

// ExplainedNames are the kinds that ParseExplained reads.
func ExplainedNames() []string { return namesOf(explainable) }

func namesOf(among []kind) (names []string) {
	for _, k := range among {
		names = append(names, strings.ToLower(k.Kind))
	}
	return names
}
