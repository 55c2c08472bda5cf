import java.io.ByteArrayOutputStream;
import java.io.FileOutputStream;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Enumeration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.zip.CRC32;
import java.util.zip.Deflater;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.commons.AdviceAdapter;

/**
 * The comparison: instruments a jar with ASM as a build plug-in would, with the same exits as anrscope (returns, and a
 * catch-any handler around the body). Constant pool copied, maxima computed, frames kept.
 *
 * <p>AsmInstrument IN.jar OUT.jar THREADS LEVEL [METHODMAP]
 *
 * <p>Instruments all methods, or with a method map of anrscope the methods that it lists, with its ids.
 */
public final class AsmInstrument {
    private static final String BEAT = "dev/anrscope/MethodBeat";

    /** Ids by "class method (descriptor)" with dots, or null if all methods are instrumented. */
    private static Map<String, Integer> wanted;

    private static void read(String methodMap) throws Exception {
        wanted = new HashMap<>();
        for (String line : Files.readAllLines(Paths.get(methodMap))) {
            String[] fields = line.split(",", 3);
            wanted.put(fields[2], Integer.valueOf(fields[0]));
        }
    }

    public static void main(String[] args) throws Exception {
        if (args.length > 4) {
            read(args[4]);
        }
        int threads = Integer.parseInt(args[2]);
        int level = Integer.parseInt(args[3]);
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        List<ZipEntry> entries = new ArrayList<>();
        List<Future<byte[]>> contents = new ArrayList<>();
        try (ZipFile in = new ZipFile(args[0])) {
            int first = 1;
            for (Enumeration<? extends ZipEntry> all = in.entries(); all.hasMoreElements(); ) {
                ZipEntry entry = all.nextElement();
                int base = first;
                first += 64;
                entries.add(entry);
                contents.add(
                        pool.submit(
                                (Callable<byte[]>)
                                        () -> {
                                            byte[] bytes;
                                            try (InputStream stream = in.getInputStream(entry)) {
                                                bytes = stream.readAllBytes();
                                            }
                                            if (entry.getName().endsWith(".class")) {
                                                bytes = instrument(bytes, base);
                                            }
                                            return deflate(bytes, level);
                                        }));
            }
            write(args[1], entries, contents);
        } finally {
            pool.shutdownNow();
        }
    }

    /** Raw deflate data, after its length and CRC. */
    private static byte[] deflate(byte[] bytes, int level) {
        CRC32 sum = new CRC32();
        sum.update(bytes);
        ByteArrayOutputStream out = new ByteArrayOutputStream(bytes.length / 2 + 64);
        java.nio.ByteBuffer head = java.nio.ByteBuffer.allocate(12);
        head.putInt(bytes.length).putLong(sum.getValue());
        out.write(head.array(), 0, 12);
        Deflater deflater = new Deflater(level, true);
        deflater.setInput(bytes);
        deflater.finish();
        byte[] buffer = new byte[8192];
        while (!deflater.finished()) {
            out.write(buffer, 0, deflater.deflate(buffer));
        }
        deflater.end();
        return out.toByteArray();
    }

    /** Writes a plain zip of data that is already deflated; java.util.zip would deflate it again. */
    private static void write(String path, List<ZipEntry> entries, List<Future<byte[]>> contents)
            throws Exception {
        java.nio.ByteBuffer directory =
                java.nio.ByteBuffer.allocate(64 << 20).order(java.nio.ByteOrder.LITTLE_ENDIAN);
        try (java.io.BufferedOutputStream out =
                new java.io.BufferedOutputStream(new FileOutputStream(path), 1 << 20)) {
            int offset = 0;
            for (int i = 0; i < entries.size(); i++) {
                byte[] content = contents.get(i).get();
                java.nio.ByteBuffer head = java.nio.ByteBuffer.wrap(content);
                int length = head.getInt();
                int sum = (int) head.getLong();
                byte[] name = entries.get(i).getName().getBytes("UTF-8");
                java.nio.ByteBuffer local =
                        java.nio.ByteBuffer.allocate(30).order(java.nio.ByteOrder.LITTLE_ENDIAN);
                local.putInt(0x04034b50).putShort((short) 20).putShort((short) 0x800).putShort((short) 8);
                local.putInt(0).putInt(sum).putInt(content.length - 12).putInt(length);
                local.putShort((short) name.length).putShort((short) 0);
                out.write(local.array());
                out.write(name);
                out.write(content, 12, content.length - 12);
                directory.putInt(0x02014b50).putShort((short) 20).putShort((short) 20);
                directory.putShort((short) 0x800).putShort((short) 8).putInt(0).putInt(sum);
                directory.putInt(content.length - 12).putInt(length).putShort((short) name.length);
                directory.putShort((short) 0).putShort((short) 0).putShort((short) 0).putShort((short) 0);
                directory.putInt(0).putInt(offset).put(name);
                offset += 30 + name.length + content.length - 12;
            }
            int size = directory.position();
            directory.putInt(0x06054b50).putInt(0).putShort((short) entries.size());
            directory.putShort((short) entries.size()).putInt(size).putInt(offset).putShort((short) 0);
            out.write(directory.array(), 0, directory.position());
        }
    }

    private static byte[] instrument(byte[] bytes, int firstId) {
        ClassReader reader = new ClassReader(bytes);
        ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
        int[] next = {firstId};
        reader.accept(
                new ClassVisitor(Opcodes.ASM9, writer) {
                    @Override
                    public MethodVisitor visitMethod(
                            int access, String name, String descriptor, String signature, String[] thrown) {
                        MethodVisitor visitor =
                                super.visitMethod(access, name, descriptor, signature, thrown);
                        if ((access & (Opcodes.ACC_ABSTRACT | Opcodes.ACC_NATIVE)) != 0) {
                            return visitor;
                        }
                        int id = next[0]++;
                        if (wanted != null) {
                            String owner = reader.getClassName();
                            Integer given = wanted.get((owner + ' ' + name + ' ' + descriptor).replace('/', '.'));
                            if (given == null) {
                                return visitor;
                            }
                            id = given;
                        }
                        return new Beats(visitor, access, name, descriptor, id);
                    }
                },
                ClassReader.EXPAND_FRAMES);
        return writer.toByteArray();
    }

    private static final class Beats extends AdviceAdapter {
        private final int id;
        private final Label begin = new Label();
        private final Label end = new Label();
        private boolean entered;

        Beats(MethodVisitor visitor, int access, String name, String descriptor, int id) {
            super(Opcodes.ASM9, visitor, access, name, descriptor);
            this.id = id;
        }

        @Override
        protected void onMethodEnter() {
            mv.visitLdcInsn(id);
            mv.visitMethodInsn(INVOKESTATIC, BEAT, "i", "(I)V", false);
            mv.visitLabel(begin);
            entered = true;
        }

        @Override
        protected void onMethodExit(int opcode) {
            if (opcode != ATHROW) {
                // Bypasses the adapter, whose stack model fails on some constructors.
                mv.visitLdcInsn(id);
                mv.visitMethodInsn(INVOKESTATIC, BEAT, "o", "(I)V", false);
            }
        }

        @Override
        public void visitMaxs(int stack, int locals) {
            if (entered) {
                mv.visitLabel(end);
                mv.visitTryCatchBlock(begin, end, end, null);
                mv.visitFrame(F_NEW, 0, new Object[0], 1, new Object[] {"java/lang/Throwable"});
                mv.visitLdcInsn(id);
                mv.visitMethodInsn(INVOKESTATIC, BEAT, "o", "(I)V", false);
                mv.visitInsn(ATHROW);
            }
            super.visitMaxs(stack, locals);
        }
    }
}
