// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package impersonation

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/internal/apistatus"
)

// maxClients is how many ServiceAccounts have a client at once; the one that was used least lately is
// made again when it is needed.
const maxClients = 64

// Clients act in the name of ServiceAccounts. The API server gives them the groups that they are in.
type Clients struct {
	own  client.Client
	live client.Reader
	// make returns a client for a user.
	make func(user string) (client.Client, error)

	mu     sync.Mutex
	recent *list.List // of *impersonator, the latest first
	byUser map[string]*list.Element
}

type impersonator struct {
	user   string
	client client.Client
}

// New keeps none yet. Own is the operator's client, live reads from the API server, and config is what the clients of others
// are made from.
func New(own client.Client, live client.Reader, config *rest.Config) *Clients {
	return &Clients{own: own, live: live, recent: list.New(), byUser: map[string]*list.Element{},
		make: func(user string) (client.Client, error) {
			as := rest.CopyConfig(config)
			as.Impersonate = rest.ImpersonationConfig{UserName: user}
			return client.New(as, client.Options{Scheme: own.Scheme(), Mapper: own.RESTMapper()})
		}}
}

// As returns the client for a ServiceAccount, or the operator's own where none is named. It reads the ServiceAccount first,
// and its error is Forbidden where that does not exist: the API server does not ask whether a user exists that is
// impersonated, so that what was granted to a ServiceAccount would outlive it.
func (c *Clients) As(ctx context.Context, namespace, serviceAccount string) (client.Client, error) {
	if serviceAccount == "" {
		return c.own, nil
	}
	account := &metav1.PartialObjectMetadata{}
	account.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ServiceAccount"))
	accounts := corev1.Resource("serviceaccounts")
	err := c.live.Get(ctx, types.NamespacedName{Namespace: namespace, Name: serviceAccount}, account)
	if apistatus.IsAbsent(err, accounts, serviceAccount) {
		return nil, apierrors.NewForbidden(accounts, serviceAccount, errors.New("the ServiceAccount does not exist"))
	} else if err != nil {
		return nil, err
	}
	user := fmt.Sprintf("system:serviceaccount:%s:%s", namespace, serviceAccount)
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.byUser[user]; ok {
		c.recent.MoveToFront(at)
		if known, ok := at.Value.(*impersonator); ok {
			return known.client, nil
		}
	}
	made, err := c.make(user)
	if err != nil {
		return nil, err
	}
	c.byUser[user] = c.recent.PushFront(&impersonator{user, made})
	if c.recent.Len() > maxClients {
		if old, ok := c.recent.Remove(c.recent.Back()).(*impersonator); ok {
			delete(c.byUser, old.user)
		}
	}
	return made, nil
}
