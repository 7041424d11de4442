// Package buckets keeps sweeps in buckets of S3, or of one of the many stores that speak its protocol. It is a module of
// its own, so that nothing else compiles a client of S3 (docs/adr/0019); its command is fairlead with such stores.
package buckets

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"fairlead.dev/fairlead/sweep"
)

// Bucket is a sweep.Store: the objects of a bucket below a prefix. An object is there whole or not at all, as S3
// promises of what it takes.
type Bucket struct {
	client *minio.Client
	name   string
	prefix string // empty, or with a / at its end
}

// Open opens s3://BUCKET/PREFIX. Which server that is on, and who asks, say the variables of the environment that AWS'
// own programs read: AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY;
// else the file of credentials, or the role of the machine.
func Open(ctx context.Context, text string) (sweep.Store, error) {
	at, err := url.Parse(text)
	if err != nil || at.Scheme != "s3" || at.Host == "" || at.RawQuery != "" || at.User != nil {
		return nil, fmt.Errorf("%q, want s3://BUCKET/FOLDER", text)
	}
	endpoint, secure, err := server(os.Getenv)
	if err != nil {
		return nil, err
	}
	client, err := minio.New(endpoint, &minio.Options{
		Creds: credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{},
		}),
		Secure: secure, Region: os.Getenv("AWS_REGION"),
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	b := &Bucket{client: client, name: at.Host}
	if folder := strings.Trim(at.Path, "/"); folder != "" {
		b.prefix = folder + "/"
	}
	there, err := client.BucketExists(ctx, b.name)
	if err == nil && !there {
		err = errors.New("there is no such bucket; make it first")
	}
	if err != nil {
		return nil, fmt.Errorf("%s, on %s: %w", text, endpoint, err)
	}
	return b, nil
}

// server is the host that is asked, and whether over TLS.
func server(env func(string) string) (endpoint string, secure bool, err error) {
	text := env("AWS_ENDPOINT_URL_S3")
	if text == "" {
		text = env("AWS_ENDPOINT_URL")
	}
	if text == "" {
		return "s3.amazonaws.com", true, nil
	}
	at, err := url.Parse(text)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" || strings.Trim(at.Path, "/") != "" {
		return "", false, fmt.Errorf("AWS_ENDPOINT_URL: %q, want a URL such as https://s3.example", text)
	}
	return at.Host, at.Scheme == "https", nil
}

// Open opens the object, which is asked for when it is read first.
func (b *Bucket) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	object, err := b.client.GetObject(ctx, b.name, b.prefix+name, minio.GetObjectOptions{})
	if err != nil {
		return nil, b.named(name, err)
	}
	return &reading{object, b, name}, nil
}

// reading is an object that is read, whose errors name it.
type reading struct {
	*minio.Object

	of   *Bucket
	name string
}

// Read reads on.
func (r *reading) Read(to []byte) (int, error) {
	n, err := r.Object.Read(to)
	if err != nil && !errors.Is(err, io.EOF) {
		err = r.of.named(r.name, err)
	}
	return n, err
}

// Write sends what the function writes, which is kept in a file until it is whole.
func (b *Bucket) Write(ctx context.Context, name string, content func(io.Writer) error) error {
	file, err := os.CreateTemp("", "fairlead-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) //nolint:errcheck // it is nobody's any more
	defer file.Close()           //nolint:errcheck // it was only read again
	buffered := bufio.NewWriter(file)
	if err := content(buffered); err != nil {
		return err
	}
	if err := buffered.Flush(); err != nil {
		return err
	}
	length, err := file.Seek(0, io.SeekCurrent)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return err
	}
	_, err = b.client.PutObject(ctx, b.name, b.prefix+name, file, length, minio.PutObjectOptions{})
	return b.named(name, err)
}

// List are the objects whose names begin so.
func (b *Bucket) List(ctx context.Context, prefix string) ([]string, error) {
	var names []string
	ctx, stop := context.WithCancel(ctx) // who stops listening has to say so
	defer stop()
	for object := range b.client.ListObjects(ctx, b.name, minio.ListObjectsOptions{Prefix: b.prefix + prefix, Recursive: true}) {
		if object.Err != nil {
			return nil, b.named(prefix, object.Err)
		}
		names = append(names, strings.TrimPrefix(object.Key, b.prefix))
	}
	return names, nil
}

// named says of an error which object it is about, and that of one that is not there as of a file.
func (b *Bucket) named(name string, err error) error {
	if err == nil {
		return nil
	}
	if response, is := errors.AsType[minio.ErrorResponse](err); is && response.Code == "NoSuchKey" {
		err = fs.ErrNotExist
	}
	return fmt.Errorf("s3://%s/%s%s: %w", b.name, b.prefix, name, err)
}
